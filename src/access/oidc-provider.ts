// Client of the OpenID Connect provider: finds its endpoints, makes the address that people are sent to, and
// reads from the answer who has come. Every answer is bounded in size and time. The provider is called when
// people sign in and not before, so that a provider that is away does not keep a node from starting.

import * as openid from 'openid-client';
import { Unavailable } from '../contract/store-fault.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { callOut } from '../flow/outgoing-call.ts';
import { demandWithin } from '../flow/within-time.ts';
import type { Identity } from '../store/account-ledger.ts';
import {
  type Claims,
  doubtAbout,
  findClaim,
  formOf,
  isElsewhere,
  readGroups,
} from './provider-claims.ts';
import {
  isClientRefused,
  RefusedAnswer,
  reasonOf,
  refuseDiscovery,
  refuseIssuer,
} from './refused-answer.ts';

export type OidcClient = {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly groupsClaim: string | undefined;
  /** Groups that give roles. */
  readonly roles: readonly { readonly group: string }[];
};

/** Secrets that bind the provider's answer to one sign-in, beside the address to come back to. */
export type SignInSecrets = {
  readonly state: string;
  readonly nonce: string;
  /** Verifier of PKCE (RFC 7636). */
  readonly verifier: string;
};

/** Person as the provider describes them, not yet checked by the rules of accounts. */
export type DescribedPerson = Identity & {
  readonly email: unknown;
  /** Why the address may be another person's; undefined if the provider calls it verified. */
  readonly emailDoubt: string | undefined;
  readonly name: unknown;
  readonly groups: ReadonlySet<string>;
};

type Metadata = openid.ServerMetadata;
type Keys = openid.ExportedJWKSCache;
type Grant = Awaited<ReturnType<typeof openid.authorizationCodeGrant>>;

/** Longest wait for an answer of the provider. */
const CALL_SECONDS = 5;
/** Longest time for the up to four calls of one sign-in; after it, another sign-in gets its place. */
const EXCHANGE_MS_MAX = 21_000;
/** Longest time to find the endpoints; all sign-ins wait for them. */
const DISCOVERY_MS_MAX = 6000;
const ANSWER_BYTES_MAX = 256 * 1024;
/** Time for which endpoints and keys are kept. */
const KEPT_MS = 5 * 60_000;
/** Maximum number of times a minute that keys are fetched for tokens that name an unknown key. */
const REFETCHES_MAX = 10;
const REFETCHES_MS = 60_000;
/** Difference of clocks that is accepted. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Age of the keys from which the library fetches them again for a token that names an unknown key. */
const REFETCHED_SECONDS = 60;
const CALLS_RUNNING_MAX = 8;
const CALLS_WAITING_MAX = 100;
const SUBJECT_LENGTH_MAX = 255;

export class OidcProvider {
  private readonly gate = new ConcurrencyLimit(CALLS_RUNNING_MAX, CALLS_WAITING_MAX);
  private found: { readonly metadata: Metadata; readonly at: number } | undefined;
  private discovering: Promise<Metadata> | undefined;
  private keys: { readonly cache: Keys; readonly at: number } | undefined;
  private refetches = { count: 0, since: 0 };
  /** Whether the client's secret is sent in the body, because the provider refused it in the header. */
  private isSecretPosted = false;

  constructor(
    private readonly client: OidcClient,
    private readonly now: () => number,
  ) {}

  /** Returns the address at the provider that begins a sign-in. Rejects with a `RefusedAnswer`. */
  async addressOf(redirectUri: string, secrets: SignInSecrets): Promise<string> {
    const config = this.configure(await this.discover(), fetchBounded);
    const challenge = await openid.calculatePKCECodeChallenge(secrets.verifier);
    const { href } = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.client.scopes,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    return href;
  }

  /**
   * Redeems the code of an answer, the address that the browser came back to, and returns the person. Checks
   * the token's signature, issuer, audience, nonce and times. Rejects with a `RefusedAnswer`.
   */
  async identify(answer: URL, secrets: SignInSecrets): Promise<DescribedPerson> {
    let absence: unknown;
    const fetch = fetchNoting((why) => {
      absence = why;
    });
    try {
      const metadata = await this.discover();
      const exchange = () => this.exchange(metadata, fetch, answer, secrets);
      return await this.gate.pass(() => demandWithin(exchange(), EXCHANGE_MS_MAX, hung));
    } catch (error) {
      if (error instanceof RefusedAnswer) throw error;
      const isAway = absence !== undefined || error instanceof Unavailable;
      throw new RefusedAnswer(isAway ? 'away' : reasonOf(error), absence ?? error);
    }
  }

  /** Returns the provider's endpoints, found at most 5 minutes ago; concurrent callers share one call. */
  async discover(): Promise<Metadata> {
    if (this.found !== undefined && this.now() - this.found.at < KEPT_MS) {
      return this.found.metadata;
    }
    this.discovering ??= this.find().finally(() => {
      this.discovering = undefined;
    });
    return this.discovering;
  }

  private async find(): Promise<Metadata> {
    const { issuer, clientId } = this.client;
    let absence: unknown;
    const fetch = fetchNoting((why) => {
      absence = why;
    });
    try {
      const finding = openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
        timeout: CALL_SECONDS,
        [openid.customFetch]: fetch,
        execute: isPlain(issuer) ? [openid.allowInsecureRequests] : [],
      });
      const config = await demandWithin(finding, DISCOVERY_MS_MAX, hung);
      const metadata = config.serverMetadata();
      const theirs = new URL(metadata.issuer).href;
      // The library accepts a multi-tenant issuer, where any client can create people and groups.
      if (theirs !== new URL(issuer).href) throw refuseIssuer(theirs, issuer);
      this.found = { metadata, at: this.now() };
      return metadata;
    } catch (error) {
      if (error instanceof RefusedAnswer) throw error;
      throw absence === undefined
        ? refuseDiscovery(error, issuer)
        : new RefusedAnswer('away', absence);
    }
  }

  private configure(metadata: Metadata, fetch: openid.CustomFetch): openid.Configuration {
    const { clientId, clientSecret } = this.client;
    const authenticate = this.isSecretPosted ? openid.ClientSecretPost : openid.ClientSecretBasic;
    const config = new openid.Configuration(
      metadata,
      clientId,
      { [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      authenticate(clientSecret),
    );
    config.timeout = CALL_SECONDS;
    config[openid.customFetch] = fetch;
    if (isPlain(metadata.issuer)) openid.allowInsecureRequests(config);
    openid.enableNonRepudiationChecks(config);
    return config;
  }

  private async exchange(
    metadata: Metadata,
    fetch: openid.CustomFetch,
    answer: URL,
    secrets: SignInSecrets,
  ): Promise<DescribedPerson> {
    const isPosted = this.isSecretPosted;
    const config = this.configure(metadata, fetch);
    const grant = await this.redeem(config, answer, secrets).catch((error: unknown) => {
      if (!isClientRefused(error)) throw error;
      // Some providers want the secret in the other place. They refuse it before they use up the code.
      this.isSecretPosted = !isPosted;
      return this.redeem(this.configure(metadata, fetch), answer, secrets);
    });
    return this.describe(config, grant);
  }

  private async redeem(
    config: openid.Configuration,
    answer: URL,
    { state, nonce, verifier }: SignInSecrets,
  ): Promise<Grant> {
    const known = this.keys;
    const age = known === undefined ? KEPT_MS : this.now() - known.at;
    if (known !== undefined && age < KEPT_MS) {
      // At this age of the keys, the library fetches them again if the token names an unknown key.
      const seconds = this.mayRefetch() ? REFETCHED_SECONDS : 0;
      const uat = Math.floor(Date.now() / 1000) - seconds;
      openid.setJwksCache(config, { ...known.cache, uat });
    }
    const before = openid.getJwksCache(config)?.uat;
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    try {
      return await openid.authorizationCodeGrant(config, answer, checks);
    } finally {
      const cache = openid.getJwksCache(config);
      if (cache !== undefined && cache.uat !== before) {
        this.keys = { cache, at: this.now() };
        if (before !== undefined) this.refetches.count += 1;
      }
    }
  }

  private mayRefetch(): boolean {
    const now = this.now();
    if (now - this.refetches.since >= REFETCHES_MS) this.refetches = { count: 0, since: now };
    return this.refetches.count < REFETCHES_MAX;
  }

  /** Reads the person from the token, and asks the provider for the claims that the token leaves out. */
  private async describe(config: openid.Configuration, grant: Grant): Promise<DescribedPerson> {
    const token = grant.claims();
    const { issuer, userinfo_endpoint: endpoint } = config.serverMetadata();
    const isNamed = typeof token?.sub === 'string' && token.sub.length <= SUBJECT_LENGTH_MAX;
    if (token === undefined || !isNamed || token.sub === '' || token.iss !== issuer) {
      throw new RefusedAnswer('untrusted', new Error('the token is of no one'));
    }
    const { groupsClaim } = this.client;
    const wanted = ['email', 'name', ...(groupsClaim === undefined ? [] : [groupsClaim])];
    const isWhole = wanted.every((claim) => findClaim(claim, [token]) !== undefined);
    const more: Claims =
      isWhole || endpoint === undefined
        ? {}
        : await openid.fetchUserInfo(config, grant.access_token, token.sub);
    // `email_verified` counts only beside its `email`: both are taken from the same answer.
    const addressed: Claims = token.email === undefined ? more : token;
    return {
      issuer,
      subject: token.sub,
      email: addressed.email,
      emailDoubt: doubtAbout(addressed.email_verified),
      name: token.name ?? more.name,
      groups: this.groupsOf([token, more]),
    };
  }

  /**
   * Returns the groups of the person: none if the claim is missing from both answers. Refuses a claim that
   * cannot be read, because reading it as no groups would take roles away.
   */
  private groupsOf(answers: readonly Claims[]): ReadonlySet<string> {
    const { groupsClaim, roles } = this.client;
    if (groupsClaim === undefined) return new Set();
    const found = findClaim(groupsClaim, answers);
    if (found === undefined) {
      if (isElsewhere(groupsClaim, answers)) throw new RefusedAnswer('too-many-groups');
      return new Set();
    }
    const { path, value } = found;
    const known = new Set(roles.map(({ group }) => group));
    const groups = path === groupsClaim ? readGroups(value, known) : undefined;
    if (groups !== undefined) return groups;
    throw new RefusedAnswer(
      'unreadable-groups',
      new Error(`the claim ${path} is ${formOf(value)}, and names no groups`),
    );
  }
}

/** Returns whether the issuer is called without TLS, which the settings accept on loopback only. */
function isPlain(issuer: string): boolean {
  return issuer.startsWith('http:');
}

/** Returns a fetch that calls `note` with the reason if the provider is away: no answer, or a 5xx. */
function fetchNoting(note: (absence: unknown) => void): openid.CustomFetch {
  return async (url, options) => {
    try {
      const response = await fetchBounded(url, options);
      if (response.status >= 500) note(new Error(`it answers ${response.status}`));
      return response;
    } catch (error) {
      // If several addresses failed, the first one's error says most.
      note(error instanceof AggregateError ? (error.errors[0] ?? error) : error);
      throw error;
    }
  };
}

function hung(ms: number): RefusedAnswer {
  return new RefusedAnswer('away', new Error(`the provider took longer than ${ms} ms`));
}

/** Makes a call for the library; follows no redirection. The library's bodies are forms, or absent. */
const fetchBounded: openid.CustomFetch = async (url, { method, headers, body }) => {
  const answer = await callOut({
    ...{ url, method, body: body == null ? undefined : String(body) },
    headers: { ...headers, 'accept-encoding': 'identity' },
    ...{ timeoutMs: CALL_SECONDS * 1000, answerBytesMax: ANSWER_BYTES_MAX },
  });
  const { status } = answer;
  if (status < 200) throw new Error(`the provider answers ${status}`);
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : new Uint8Array(answer.body), {
    status,
    headers: Object.entries(answer.headers).flatMap(([name, value = []]) =>
      [value].flat().map((each): [string, string] => [name, each]),
    ),
  });
};
