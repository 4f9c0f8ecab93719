// Sign-in with an OpenID Connect provider. A sign-in is bound to the browser that began it by a signed
// cookie, from which state, nonce and verifier are derived. The provider's issuer and subject identify the
// account. A person who has none, but whose address is that of an account, proves once that it is theirs.

import { randomBytes } from 'node:crypto';
import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { type OidcRefusal, readConsolePath } from '../contract/oidc.ts';
import { hasControls, isLongerThan, isoTime, isStorable, turnsText } from '../contract/text.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { AccountProof, Arrival, Entered, GroupRole } from '../store/account-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import { type Accounts, type Session, type SignedIn, sessionActor } from './accounts.ts';
import type { DescribedPerson, OidcProvider, SignInSecrets } from './oidc-provider.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import { formOf } from './provider-claims.ts';
import { RefusedAnswer } from './refused-answer.ts';
import type { Client, LoginThrottle, SignInGate } from './sign-in-limits.ts';
import type { SigningKey } from './signing-key.ts';
import { createToken } from './token.ts';

/** Role that members of a group have. */
type GroupRule = GroupRole & { readonly group: string };

export type OidcSignInDependencies = {
  readonly ledger: Ledger;
  readonly provider: OidcProvider;
  readonly issuer: string;
  readonly rules: readonly GroupRule[];
  readonly key: SigningKey;
  readonly accounts: Accounts;
  readonly links: OneTimeLinks;
  readonly throttle: LoginThrottle;
  readonly gate: SignInGate;
  readonly metrics: Pick<Metrics, 'signIns'>;
  readonly log: RareLog;
  readonly now: () => number;
};

/** Sign-in that a browser has begun. */
type Begun = {
  readonly id: string;
  /** Time at which it began, in milliseconds since 1970. */
  readonly at: number;
  /** Base URL of the console by which the browser reaches the service. */
  readonly base: string;
  /** Path of the console that the browser goes to afterwards. */
  readonly to: string;
  /** Cookie of a known browser, kept here because browsers do not send it with the provider's answer. */
  readonly browser: string | undefined;
};

/** Result of a sign-in; `isOver` says whether the browser can forget it. */
export type Finished =
  | { readonly as: 'signed-in'; readonly to: string; readonly signedIn: SignedIn }
  /** The person must still prove the account of their address; the token identifies them until then. */
  | { readonly as: 'arrived'; readonly to: string; readonly token: string }
  | { readonly as: 'refused'; readonly reason: OidcRefusal; readonly isOver: boolean };

/** Path at which the provider's answer arrives. */
const OIDC_CALLBACK = '/console/api/oidc/callback';
const INVITATION = '/console/invitation/';
const ID_BYTES = 16;
/** Maximum length of a known browser's cookie; a longer one is ignored. */
const BROWSER_LENGTH_MAX = 128;
export class OidcSignIn {
  constructor(private readonly dependencies: OidcSignInDependencies) {}

  /** Begins a sign-in: returns the provider's address for the browser, and the cookie that binds it. */
  async begin(
    base: string,
    to: string | undefined,
    { address, browser }: Client,
  ): Promise<Outcome<{ readonly url: string; readonly cookie: string }>> {
    const { provider, throttle, metrics, now } = this.dependencies;
    const refusal = await throttle.admitAddress(address);
    if (refusal !== undefined) {
      metrics.signIns.add('limited');
      return refusal;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    const isKept = browser !== undefined && browser.length <= BROWSER_LENGTH_MAX;
    const known = isKept ? browser : undefined;
    const begun = { id, at: now(), base, to: readConsolePath(to), browser: known };
    try {
      const url = await provider.addressOf(base + OIDC_CALLBACK, await this.secretsOf(id));
      return { url, cookie: await this.seal(begun) };
    } catch (error) {
      if (!(error instanceof RefusedAnswer)) throw error;
      this.tell(error);
      if (error.reason === 'other-issuer') return fail('otherProvider');
      return fail(error.reason === 'no-provider' ? 'noProvider' : 'providerAway');
    }
  }

  /** Ends a sign-in with the query that the browser has brought back from the provider. */
  async finish(cookie: string | undefined, query: string, from: Client): Promise<Finished> {
    const { throttle, provider } = this.dependencies;
    const begun = await this.open(cookie);
    if (begun === undefined) return this.refuse('stale', false);
    const secrets = await this.secretsOf(begun.id);
    // Another site can send the browser here with any state; that must not end the person's own sign-in.
    const [state, ...others] = new URLSearchParams(query).getAll('state');
    if (state !== secrets.state || others.length > 0) return this.refuse('stale', false);
    if (!(await throttle.admitOnce(begun.id, LIMIT.oidcSignInMs))) return this.refuse('stale');
    try {
      const answer = new URL(`${begun.base}${OIDC_CALLBACK}?${query}`);
      const client = { ...from, browser: begun.browser };
      return await this.receive(await provider.identify(answer, secrets), begun.to, client);
    } catch (error) {
      if (!(error instanceof RefusedAnswer)) throw error;
      this.tell(error);
      return this.refuse(error.reason);
    }
  }

  /** Joins an arrival to the account of its address, which a password or the account's session proves. */
  async join(
    token: string | undefined,
    shown: { readonly password: string | undefined; readonly session: Session | undefined },
    client: Client,
  ): Promise<Outcome<SignedIn>> {
    const { ledger, accounts, links, now } = this.dependencies;
    const arrival = await links.read('arrival', token, client.address);
    if (isFailure(arrival)) return arrival;
    const proof = await this.prove(arrival.offer.email, shown, client);
    if (isFailure(proof)) return proof;
    const entered = await ledger.joinIdentity(arrival.hash, proof, isoTime(now()));
    if (isFailure(entered)) return entered;
    if (shown.session !== undefined) await accounts.signOut(shown.session);
    const signedIn = await this.letIn(entered, client);
    return isFailure(signedIn) ? fail('unknownArrival') : signedIn;
  }

  private async prove(
    email: string,
    { password, session }: Parameters<OidcSignIn['join']>[1],
    client: Client,
  ): Promise<Outcome<AccountProof>> {
    if (password === undefined) {
      if (session?.account.email !== email) {
        return invalidField('password', 'Must be that of the account');
      }
      const actor = sessionActor(session);
      return { accountId: session.account.id, passwordHash: undefined, actor };
    }
    const tried = await this.dependencies.gate.try(email, password, client);
    if (isFailure(tried)) return tried;
    const hash = tried.account?.passwordHash ?? undefined;
    if (!tried.isRight || tried.account === undefined || hash === undefined) {
      return fail('wrongLogin');
    }
    const actor = { kind: 'token', email } as const;
    return { accountId: tried.account.id, passwordHash: hash, actor };
  }

  /** Signs the person in, or has them prove that the account of their address is theirs. */
  private async receive(person: DescribedPerson, to: string, client: Client): Promise<Finished> {
    const { ledger, rules, now } = this.dependencies;
    const arrival = readArrival(person, rules);
    const at = now();
    const entered = await ledger.enterByIdentity(arrival, isoTime(at));
    if (!isFailure(entered)) {
      const signedIn = await this.letIn(entered, client);
      if (isFailure(signedIn)) return this.refuse('stale');
      // A new account has used its invitation already.
      const isUsed = entered.isNew && to.startsWith(INVITATION);
      return { as: 'signed-in', to: isUsed ? '/console' : to, signedIn };
    }
    const { email } = arrival;
    if (email === undefined) {
      throw new RefusedAnswer(
        'no-address',
        new Error(`the claim email is ${formOf(person.email)}`),
      );
    }
    if (!arrival.isEmailVerified) {
      throw new RefusedAnswer('unverified', new Error(person.emailDoubt));
    }
    const { token, hash } = createToken();
    const expiresAt = isoTime(at + LIMIT.oidcSignInMs);
    await ledger.storeArrival(
      { ...arrival, email },
      { tokenHash: hash, at: isoTime(at), expiresAt },
    );
    return { as: 'arrived', to, token };
  }

  private async letIn(entered: Entered, client: Client): Promise<Outcome<SignedIn>> {
    const { accounts, metrics, log } = this.dependencies;
    for (const organizationId of entered.ownerless) {
      const details = { organizationId, account: entered.account.id };
      log.warnAbout(organizationId, details, 'an organization has no owner any more');
    }
    const signedIn = await accounts.beginByProvider(entered, client);
    if (!isFailure(signedIn)) metrics.signIns.add('succeeded');
    return signedIn;
  }

  private refuse(reason: OidcRefusal, isOver = true): Finished {
    this.dependencies.metrics.signIns.add('failed');
    return { as: 'refused', reason, isOver };
  }

  private tell({ reason, cause }: RefusedAnswer): void {
    this.dependencies.log.warn({ reason, err: cause }, 'a sign-in with the provider was refused');
  }

  // The values that bind a sign-in to its browser, its issuer and this service.

  private async secretsOf(id: string): Promise<SignInSecrets> {
    const { key, issuer } = this.dependencies;
    const derive = async (use: string) => {
      return (await key.sign([use, issuer, id])).toString('base64url');
    };
    return {
      state: await derive('state'),
      nonce: await derive('nonce'),
      verifier: await derive('verifier'),
    };
  }

  private async seal(begun: Begun): Promise<string> {
    const { key, issuer } = this.dependencies;
    const text = Buffer.from(JSON.stringify(begun)).toString('base64url');
    return `${text}.${(await key.sign(['begun', issuer, text])).toString('base64url')}`;
  }

  /** Returns the sign-in of a cookie; undefined if the cookie is forged or too old. */
  private async open(cookie: string | undefined): Promise<Begun | undefined> {
    const { key, issuer, now } = this.dependencies;
    const [, text = '', signature = ''] = /^([\w-]+)\.([\w-]{43})$/.exec(cookie ?? '') ?? [];
    if (signature === '' || !(await key.isOf(['begun', issuer, text], signature))) return undefined;
    const begun = JSON.parse(Buffer.from(text, 'base64url').toString()) as Begun;
    return now() - begun.at < LIMIT.oidcSignInMs ? begun : undefined;
  }
}

/** Returns the arrival of a described person; rejects a subject that cannot be stored. */
function readArrival(
  { issuer, subject, email, emailDoubt, name, groups }: DescribedPerson,
  rules: readonly GroupRule[],
): Arrival {
  if (!isStorable(subject)) throw new RefusedAnswer('untrusted');
  const address = readAddress(email);
  return {
    issuer,
    subject,
    email: address,
    isEmailVerified: emailDoubt === undefined && address !== undefined,
    name: readName(name) ?? address ?? subject,
    roles: rules
      .filter(({ group }) => groups.has(group))
      .map(({ organization, role }) => ({ organization, role })),
  };
}

/** Returns the address in lower case; undefined if the claim is not an address. */
function readAddress(email: unknown): string | undefined {
  const text = typeof email === 'string' ? email.trim().toLowerCase() : '';
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= LIMIT.emailLengthMax;
  return isAddress && isStorable(text) && !turnsText(text) ? text : undefined;
}

/** Returns the name without outer spaces; undefined if it cannot be shown. */
function readName(name: unknown): string | undefined {
  const text = typeof name === 'string' ? name.trim() : '';
  const isShown = isStorable(text) && !hasControls(text) && !turnsText(text);
  return text !== '' && isShown && !isLongerThan(text, LIMIT.nameLengthMax) ? text : undefined;
}
