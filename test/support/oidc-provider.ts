// An OpenID Connect provider on loopback: the package `oidc-provider`, whose people sign in without a page.
// What it answers can be falsified on the way, with its own key or another one.

import {
  createHash,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomInt,
  sign,
} from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import { loopbackServer } from './loopback-server.ts';

/** Person whom the provider knows; the one who is `present` signs in at the next visit. */
type Known = {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
  readonly groups?: unknown;
  readonly realm_access?: unknown;
};

/** Parts of an ID token that a test changes. */
export type Token = { header: Record<string, unknown>; claims: Record<string, unknown> };

export type TestProvider = {
  readonly issuer: string;
  /** Settings of a node that signs people in here; `groups` are those that the claim `groups` names. */
  settings(roles?: object): Record<string, string>;
  /** Person at the browser. */
  present: Known;
  /** Changes an ID token before it is signed again; undefined leaves it as it is. */
  falsify: ((token: Token) => void) | undefined;
  /** Key that signs falsified tokens; undefined for the provider's own. */
  foreignKey: KeyObject | undefined;
  /** Status of all answers, or that connections end without one; undefined while the provider works. */
  broken: number | 'silent' | undefined;
  /** Whether it refuses the client's secret in a header, and wants it in the body. */
  refusesHeader: boolean;
  /** Number of requests, by path. */
  readonly requests: Map<string, number>;
  /** Takes new keys, and forgets the old ones. */
  rotate(): void;
  stop(): Promise<void>;
};

const CLIENT = { client_id: 'sluice', client_secret: 'a secret of the tests' };

/** Starts a provider for the consoles at these addresses. */
export async function startOidcProvider(consoles: readonly string[]): Promise<TestProvider> {
  const requests = new Map<string, number>();
  const { port, close } = await loopbackServer((...asked) => void serve(...asked));
  const issuer = `http://127.0.0.1:${port}`;
  let key = newKey();
  let provider = createProvider(issuer, consoles, key, () => test.present);
  const test: TestProvider = {
    issuer,
    settings: (roles) => ({
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.client_id,
      OIDC_CLIENT_SECRET: CLIENT.client_secret,
      OIDC_NAME: 'Example ID',
      ...(roles === undefined
        ? {}
        : {
            OIDC_GROUPS_CLAIM: 'groups',
            OIDC_SCOPES: 'openid email profile groups',
            OIDC_ROLES: JSON.stringify(roles),
          }),
    }),
    present: { sub: 'nobody-yet' },
    falsify: undefined,
    foreignKey: undefined,
    broken: undefined,
    refusesHeader: false,
    requests,
    rotate() {
      key = newKey();
      provider = createProvider(issuer, consoles, key, () => test.present);
    },
    stop: close,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', issuer);
    requests.set(pathname, (requests.get(pathname) ?? 0) + 1);
    if (test.broken === 'silent') {
      request.socket.destroy();
      return;
    }
    if (test.broken !== undefined) {
      response.writeHead(test.broken).end();
      return;
    }
    if (pathname === '/token' && test.refusesHeader && request.headers.authorization) {
      const headers = {
        'www-authenticate': 'Basic realm="tests"',
        'content-type': 'application/json',
      };
      response.writeHead(401, headers).end('{"error":"invalid_client"}');
      return;
    }
    if (pathname === '/token') falsifyAnswer(response, test, key);
    if (pathname.startsWith('/interaction/')) {
      const login = { accountId: test.present.sub, remember: false };
      await provider.interactionFinished(request, response, { login });
      return;
    }
    await provider.callback()(request, response);
  }

  return test;
}

type Key = { readonly privateKey: KeyObject; readonly jwk: JsonWebKey };

function newKey(): Key {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(String(jwk.n)).digest('base64url').slice(0, 16);
  return { privateKey, jwk: { ...jwk, kid, use: 'sig', alg: 'RS256' } };
}

/** Returns a key that no provider has. */
export function foreignKey(): KeyObject {
  return newKey().privateKey;
}

function createProvider(
  issuer: string,
  consoles: readonly string[],
  { jwk }: Key,
  present: () => Known,
): Provider {
  return new Provider(issuer, {
    clients: [
      { ...CLIENT, redirect_uris: consoles.map((url) => `${url}/console/api/oidc/callback`) },
    ],
    jwks: { keys: [jwk as never] },
    cookies: { keys: ['a key of the tests'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups', 'realm_access'],
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...present(), sub }) }) as never,
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile groups');
      await grant.save();
      return grant;
    },
  });
}

/** Makes the answer of the token endpoint carry what a test makes of its ID token. */
function falsifyAnswer(response: ServerResponse, test: TestProvider, key: Key): void {
  const { end } = response;
  response.end = ((body: string | Buffer) => {
    const { falsify } = test;
    const answer = JSON.parse(String(body)) as { id_token?: string };
    if (falsify === undefined || answer.id_token === undefined)
      return end.call(response, body, 'utf8');
    const [header = '', claims = ''] = answer.id_token.split('.');
    const token: Token = { header: decode(header), claims: decode(claims) };
    falsify(token);
    const text = `${encode(token.header)}.${encode(token.claims)}`;
    const signature = sign('sha256', Buffer.from(text), test.foreignKey ?? key.privateKey);
    const changed = JSON.stringify({
      ...answer,
      id_token: `${text}.${signature.toString('base64url')}`,
    });
    response.setHeader('content-length', Buffer.byteLength(changed));
    return end.call(response, changed, 'utf8');
  }) as typeof response.end;
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** Browser of a person: its cookies, by the origin that set them. */
export class OidcBrowser {
  readonly url: string;
  readonly cookies = new Map<string, string>();
  /** Address of its own, as a proxy tells it. */
  private readonly address = `10.${[1, 2, 3].map(() => randomInt(256)).join('.')}`;

  constructor(node: { readonly url: string }) {
    this.url = node.url;
  }

  /** Sends a request with the cookies of its origin; follows no redirection. */
  async send(method: string, address: string, body?: unknown): Promise<Response> {
    const { origin } = new URL(address);
    const cookies = [...this.cookies].filter(([name]) => name.startsWith(`${origin} `));
    const cookie = cookies.map(([name, value]) => `${name.split(' ')[1]}=${value}`).join('; ');
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      headers: {
        'x-forwarded-for': this.address,
        ...(cookie === '' ? {} : { cookie }),
        ...(method === 'GET' ? {} : { origin, 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) {
        this.cookies.delete(`${origin} ${name}`);
      } else this.cookies.set(`${origin} ${name}`, value);
    }
    return response;
  }

  /** Calls the console API; returns the status and the body. */
  async call(method: string, path: string, body?: unknown) {
    const response = await this.send(method, `${this.url}/console/api/${path}`, body);
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as never };
  }

  /** Begins a sign-in, and goes to the provider and back; returns the address that leads back to the node. */
  async comeBack(to?: string): Promise<URL> {
    const begun = await this.call('POST', 'oidc', to === undefined ? {} : { to });
    let address = (begun.body as { url: string }).url;
    // A sign-in of the provider takes four redirections.
    for (let step = 0; step < 8 && !address.startsWith(this.url); step++) {
      const response = await this.send('GET', address);
      await response.arrayBuffer();
      const next = response.headers.get('location');
      if (next === null) throw new Error(`${address} answered ${response.status}`);
      address = new URL(next, address).href;
    }
    return new URL(address);
  }

  /** Arrives at the node with the provider's answer; returns where the node leads to. */
  async arrive(answer: URL): Promise<string> {
    const response = await this.send('GET', answer.href);
    if (response.status !== 303) throw new Error(`${response.status}: ${await response.text()}`);
    return response.headers.get('location') ?? '';
  }

  /** Signs in; returns where the node leads to. */
  async signIn(to?: string): Promise<string> {
    return this.arrive(await this.comeBack(to));
  }

  /** Returns the state of the session. */
  async session(): Promise<{
    state: string;
    account?: { email: string; id: string; name: string };
    memberships?: { organization: { id: string }; role: string }[];
    signIn?: unknown;
    hasPassword?: false;
  }> {
    return (await this.call('GET', 'session')).body;
  }

  /** Returns the role in an organization; undefined for none. */
  async roleIn(org: string): Promise<string | undefined> {
    const { memberships = [] } = await this.session();
    return memberships.find(({ organization }) => organization.id === org)?.role;
  }
}
