// Tests what a sign-in provider answers: each refusal has its own reason, whose cause says what it was
// (§31.10), and groups have several forms (§31.9).

import { afterEach, describe, expect, test } from 'vitest';
import { OidcProvider } from '../../src/access/oidc-provider.ts';
import {
  doubtAbout,
  findClaim,
  formOf,
  isElsewhere,
  readGroups,
} from '../../src/access/provider-claims.ts';
import { RefusedAnswer } from '../../src/access/refused-answer.ts';
import { freePort } from '../support/free-port.ts';
import { loopbackServer } from '../support/loopback-server.ts';

const SECRETS = { state: 'state', nonce: 'nonce', verifier: 'v'.repeat(43) };

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

type Answer = { readonly status?: number; readonly type?: string; readonly body: string };

/** Starts a server that answers `path` so, and every other path as a provider does that has endpoints. */
async function startAnswering(answers: Readonly<Record<string, Answer>>, suffix = '') {
  const { port, close } = await loopbackServer(({ url = '' }, response) => {
    const endpoints = {
      issuer: `${origin}/realm${suffix}`,
      authorization_endpoint: `${origin}/auth`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
    };
    const own: Answer = { body: JSON.stringify(endpoints) };
    const { status = 200, type = 'application/json', body } = answers[url] ?? own;
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  endings.push(close);
  const origin = `http://127.0.0.1:${port}`;
  return `${origin}/realm`;
}

function clientOf(issuer: string, now: () => number = Date.now): OidcProvider {
  const client = { clientId: 'sluice', clientSecret: 'secret', scopes: 'openid' };
  return new OidcProvider({ issuer, ...client, groupsClaim: undefined, roles: [] }, now);
}

async function refusalOf(work: Promise<unknown>): Promise<[string, string]> {
  const error = await work.then(
    () => expect.unreachable('it was not refused'),
    (refused: unknown) => refused,
  );
  if (!(error instanceof RefusedAnswer)) throw error;
  return [error.reason, error.cause instanceof Error ? error.cause.message : ''];
}

const DISCOVERY = '/realm/.well-known/openid-configuration';

describe('the endpoints of a provider', () => {
  test('an issuer without its last slash is told, with both spellings', async () => {
    const issuer = await startAnswering({}, '/');
    expect(await refusalOf(clientOf(issuer).discover())).toEqual([
      'other-issuer',
      `it calls itself ${issuer}/: OIDC_ISSUER, now ${issuer}, must be spelled the same`,
    ]);
    await clientOf(`${issuer}/`).discover();
  });

  test.each<[string, Answer]>([
    ['a page', { type: 'text/html', body: '<h1>Welcome</h1>' }],
    ['an error of the client', { status: 404, body: '{}' }],
    ['what is no JSON', { body: '{"issuer"' }],
    ['no issuer', { body: '{}' }],
    ['an issuer that is no address', { body: '{"issuer":"main"}' }],
  ])('%s is told from a provider that is away', async (_, answer) => {
    const issuer = await startAnswering({ [DISCOVERY]: answer });
    const [reason, cause] = await refusalOf(clientOf(issuer).discover());
    expect([reason, cause]).toEqual(['no-provider', expect.stringMatching(/^its answer is not/)]);
  });

  test('a provider that is away is told with the reason', async () => {
    const issuer = await startAnswering({ [DISCOVERY]: { status: 503, body: '' } });
    expect(await refusalOf(clientOf(issuer).discover())).toEqual(['away', 'it answers 503']);
    const nowhere = clientOf(`http://127.0.0.1:${await freePort()}/realm`).discover();
    expect(await refusalOf(nowhere)).toEqual(['away', expect.stringContaining('ECONNREFUSED')]);
  });
});

test('the endpoints of a provider are kept for five minutes', async () => {
  let now = 1000;
  const client = clientOf(await startAnswering({}), () => now);
  await client.discover();
  await endings.pop()?.();
  now += 299_999;
  await client.discover();
  now += 1;
  expect((await refusalOf(client.discover()))[0]).toBe('away');
});

describe('the answer to a sign-in', () => {
  const reasonAfter = async (query: string, token?: Answer) => {
    const issuer = await startAnswering(token === undefined ? {} : { '/token': token });
    const answer = new URL(`http://127.0.0.1/callback?${query}&state=state`);
    return (await refusalOf(clientOf(issuer).identify(answer, SECRETS)))[0];
  };

  test.each([
    ['access_denied', 'denied'],
    ['constructor', 'denied'],
    ['server_error', 'provider-failed'],
    ['temporarily_unavailable', 'provider-busy'],
    ['login_required', 'interaction-required'],
    ['unauthorized_client', 'client-refused'],
    ['invalid_scope', 'request-refused'],
  ])('with the error %s is refused as %s', async (code, reason) => {
    expect(await reasonAfter(`error=${code}`)).toBe(reason);
  });

  test.each<[string, Answer, string]>([
    ['invalid_client', { status: 401, body: '{"error":"invalid_client"}' }, 'client-refused'],
    ['invalid_grant', { status: 400, body: '{"error":"invalid_grant"}' }, 'stale'],
    ['server_error', { status: 400, body: '{"error":"server_error"}' }, 'provider-failed'],
    [
      'a_code_of_its_own',
      { status: 400, body: '{"error":"a_code_of_its_own"}' },
      'request-refused',
    ],
    ['nothing readable', { body: '[]' }, 'untrusted'],
    ['a failure', { status: 500, body: '{"error":"server_error"}' }, 'away'],
  ])('whose code brings %s is refused', async (_, token, reason) => {
    expect(await reasonAfter('code=code', token)).toBe(reason);
  });
});

const KNOWN = new Set(['it', 'CN=it,OU=groups']);

describe('the groups of a claim (§31.9)', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['a list of texts', ['it', 'ops'], ['it', 'ops']],
    ['an empty list', [], []],
    ['a text', 'it', ['it']],
    ['a text of nothing', '', []],
    ['a text with commas', 'it, ops,', ['it', 'ops']],
    ['a text with commas that is a group', 'CN=it,OU=groups', ['CN=it,OU=groups']],
    ['a text in a list, with commas', ['it,ops'], ['it,ops']],
    ['a list in JSON', ' ["it","ops"]', ['it', 'ops']],
    ['a list in JSON of objects with a name', '[{"name":"it"}]', ['it']],
    ['a list of objects with a name', [{ name: 'it', id: 7 }, { name: 'ops' }], ['it', 'ops']],
    ['an object of objects', { it: { org: 'a.example' }, ops: {} }, ['it', 'ops']],
    ['an object of nothing', {}, []],
  ])('%s', (_, claim, groups) => {
    expect([...(readGroups(claim, KNOWN) ?? expect.unreachable())]).toEqual(groups);
  });

  test.each<[string, unknown, string]>([
    ['an object of lists', { roles: ['it'] }, 'an object with 1 keys, such as roles (a list)'],
    [
      'an object of some objects',
      { it: {}, 'a@b.example': 'x' },
      'an object with 2 keys, such as it (an object), … (a text)',
    ],
    ['a list of numbers', [7, 'it'], 'a list with a number, a text'],
    ['a list of objects without a name', [{ id: 'it' }], 'a list with an object'],
    ['a text that looks like a list', '[it, ops]', 'a text like JSON'],
    ['an object in JSON', '{"it":{}}', 'a text like JSON'],
    ['a number', 7, 'a number'],
  ])('%s is unreadable, and is told by its form', (_, claim, form) => {
    expect(readGroups(claim, KNOWN)).toBeUndefined();
    expect(formOf(claim)).toBe(form);
  });
});

describe('the place of a claim (§31.9)', () => {
  const roles = ['it'];

  test.each<[string, string, readonly object[]]>([
    ['its exact name', 'groups', [{ groups: roles }]],
    ['a path', 'realm_access.roles', [{ realm_access: { roles } }]],
    ['a name with dots', 'https://a.example/roles', [{ 'https://a.example/roles': roles }]],
    ['an exact name before a path', 'a.b', [{ a: { b: ['ops'] } }, { 'a.b': roles }]],
    ['parts with dots', 'access.my.client.roles', [{ access: { 'my.client': { roles } } }]],
    ['the second answer', 'a.b', [{ a: {} }, { a: { b: roles } }]],
    ['what is not null', 'groups', [{ groups: null }, { groups: roles }]],
  ])('%s', (_, name, answers) => {
    expect(findClaim(name, answers as never)).toEqual({ path: name, value: roles });
  });

  test('a claim that is missing, null or only inherited is not there', () => {
    for (const name of ['groups', 'a.b', 'constructor', 'a.constructor', 'a.', '.']) {
      expect(findClaim(name, [{ groups: null, a: { c: 1 } }, {}])).toBeUndefined();
    }
  });

  test('what stands in the way of a path is there, and names nothing', () => {
    expect(findClaim('a.b.c', [{ a: { b: 'it' } }])).toEqual({ path: 'a.b', value: 'it' });
  });

  test('groups that the provider keeps elsewhere are told', () => {
    const answer = { _claim_names: { groups: 'src1' } };
    expect(isElsewhere('groups', [{}, answer])).toBe(true);
    expect(isElsewhere('groups.names', [answer])).toBe(true);
    expect(isElsewhere('roles', [answer, { _claim_names: 'groups' }])).toBe(false);
  });
});

test('an address is verified by a boolean or its text, and by nothing else (§31.4)', () => {
  expect([true, 'true'].map(doubtAbout)).toEqual([undefined, undefined]);
  expect([false, 'false', undefined, null, 1, 'yes'].map(doubtAbout)).toEqual([
    ...['email_verified is false', 'email_verified is false'],
    ...['email_verified is missing', 'email_verified is missing'],
    ...['email_verified is a number', 'email_verified is a text'],
  ]);
});
