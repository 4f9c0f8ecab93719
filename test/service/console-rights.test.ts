// Tests the right that each call of the console API needs, in one table: below it a call is refused and
// changes nothing. What a key may call is in narrowed-keys.test.ts.

import { beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/http/api/console-routes.ts';
import { type Call, consoleWrites, type Role } from '../support/console-writes.ts';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId, send, Tenant } from '../support/tenant.ts';

type Needed = Role | 'operator' | 'person' | 'visitor';
/** What calls name beside the organization and the app. */
const MADE = ['key', 'invitation', 'account', 'destination', 'approval'] as const;
type World = Readonly<Record<'org' | 'app' | (typeof MADE)[number], string>>;

const ROLES: readonly Role[] = ['owner', 'publisher', 'viewer'];
const FORBIDDEN = 'Your role may not do this';
/** Calls for which nobody has to be signed in: they have a password, a passkey, or the token of a link. */
const OPEN = [
  ...['GET session', 'POST setup', 'POST session', 'DELETE session', 'DELETE sessions'],
  ...['GET invitation', 'POST invitation', 'GET password-reset', 'POST password-reset'],
  ...['GET recovery', 'POST recovery', 'GET confirmation', 'POST confirmation'],
  ...['POST session/passkey', 'POST session/passkey/options', 'POST oidc', 'POST oidc/join'],
  ...['GET oidc/callback', 'GET oidc/arrival'],
];

/** Returns every call of the console API and the right that it needs, in an order that lets each succeed. */
function calls(of: World): readonly (readonly [Needed, ...Call])[] {
  const { app, org } = of;
  const [name, stable] = [{ app, channel: 'stable' }, `?app=${app}&channel=stable`];
  const one = `${stable}&version=1.0.0`;
  const release = { ...name, version: '1.0.0' };
  const promotion = { app, version: '1.0.0', from: 'stable', to: 'beta' };
  const plan = { ...release, preset: 'careful' };
  const device = `?app=${app}&deviceId=d1`;
  const destination = `destinations/${of.destination}`;
  const hook = { kind: 'webhook', name: 'ops', url: 'https://ops.example.com/hook' };
  const read = (needed: Needed, ...paths: readonly string[]) =>
    paths.map((path) => [needed, 'GET', path] as const);
  return [
    ...read('viewer', `apps?org=${org}`, `attention?org=${org}`, `search?org=${org}&text=x`),
    ...read('viewer', `members?org=${org}`, `keys?org=${org}`, `audit?org=${org}`),
    ...read('viewer', `approvals?org=${org}`, `approvals/${of.approval}`),
    ...read('viewer', `webhooks/enabled?org=${org}`, `webhooks?app=${app}`, `stop?app=${app}`),
    ...read('viewer', `ddi-credentials?app=${app}`),
    ...read('viewer', `labels?app=${app}`, `channels?app=${app}`, `channel${stable}`),
    ...read('viewer', `releases${stable}`, `release${one}`, `releases/plan${one}`),
    ...read('viewer', `releases/trouble${one}`, `releases/adoption${one}`),
    ...read('viewer', `devices?app=${app}`, `devices/count?app=${app}`, `device${device}`),
    ...read('viewer', `fleet?app=${app}`, `adoption?app=${app}&step=day`, `decision${device}`),
    ...read('viewer', `decision/told${stable}&platform=linux&version=0.9.0`),
    ['viewer', 'POST', 'decisions', { app, deviceIds: ['d1'] }],
    ['publisher', 'POST', 'releases/matching', name],
    ['publisher', 'POST', 'releases/retry', release],
    ['publisher', 'POST', 'releases/rehearse', { ...name, version: '9.0.0' }],
    ['publisher', 'POST', 'releases/rehearse-serving', { ...release, status: 'paused' }],
    ['publisher', 'POST', 'releases/rehearse-promotion', promotion],
    ['publisher', 'POST', 'releases/rehearse-plan', plan],
    ['owner', 'POST', 'members/recover', { org, account: of.account }],
    ...consoleWrites(of, { keyId: of.key, invitationId: of.invitation, accountId: of.account }),
    ['publisher', 'POST', 'releases/plan', plan],
    ['publisher', 'PATCH', 'releases/plan', { ...release, action: 'cancel' }],
    ['publisher', 'POST', 'releases/promote', promotion],
    ['publisher', 'DELETE', 'releases', release],
    ['publisher', 'POST', 'stop', { app }],
    ['publisher', 'POST', 'resume', { app, stop: 'stp_unknown' }],
    ['publisher', 'POST', `approvals/${of.approval}/approve`, {}],
    ['publisher', 'POST', `approvals/${of.approval}/decline`, {}],
    ...read('owner', `destinations?org=${org}`, destination, `${destination}/deliveries`),
    ['owner', 'POST', `destinations?org=${org}`, hook],
    ['owner', 'PATCH', destination, { name: `ops ${randomId()}` }],
    ['owner', 'POST', `${destination}/link`],
    ['owner', 'POST', `${destination}/test`],
    ['owner', 'POST', `${destination}/rotate`],
    ['owner', 'POST', `${destination}/deliveries/dlv_1/send-again`],
    ['owner', 'DELETE', destination],
    ['operator', 'POST', 'accounts/reset-password', { email: 'nobody@example.com' }],
    ['operator', 'POST', 'accounts/recover', { email: 'nobody@example.com' }],
    ['operator', 'GET', 'edge-tokens'],
    ['operator', 'POST', 'edge-tokens', { name: 'edge', org: null }],
    ['operator', 'POST', 'edge-tokens/revoke', { id: 'edg_unknown' }],
    ['operator', 'POST', 'backup', {}],
    ['operator', 'POST', 'secrets/reseal', {}],
    ...read('person', 'account/sessions', 'account/passkeys'),
    ['person', 'DELETE', 'account/sessions/ses_unknown'],
    ['person', 'DELETE', 'account/sessions'],
    ['person', 'POST', 'account/passkeys/options', {}],
    ['person', 'POST', 'account/passkeys', {}],
    ['person', 'PATCH', 'account/passkeys/pky_unknown', { name: 'Key' }],
    ['person', 'DELETE', 'account/passkeys/pky_unknown'],
    ['person', 'POST', 'password', {}],
    ['person', 'POST', 'setup/organization', {}],
    ['person', 'POST', 'invitation/accept', {}],
    ['visitor', 'POST', 'organizations', {}],
    ['viewer', 'GET', `live?app=${app}`],
  ];
}

/** Calls whose subject may be gone, or in another state, when their turn comes. */
const MAY_BE_LATE = [
  ...['POST resume', 'POST approvals', 'POST destinations', 'POST members', 'DELETE releases'],
  ...['POST releases/plan', 'POST releases/promote', 'POST releases/rehearse'],
  ...['PATCH releases/plan', 'POST gateway-tokens', 'POST ddi-secrets'],
];

serviceSuite('rights at the console', (node) => {
  let world: World;
  let appId: string;
  let key: string;
  const people = {} as Record<Role, Person>;
  let stranger: Person;
  let strangersOrg: string;

  beforeAll(async () => {
    const [tenant, other] = [await createTenant(node), await createTenant(node)];
    const { org, app } = tenant;
    for (const role of ROLES) people[role] = await member(node, org, role);
    strangersOrg = other.org;
    stranger = await member(node, other.org, 'owner');
    await tenant.publish('1.0.0', { rollout: 10 });
    const device = { deviceId: 'd1', version: '0.9.0', platform: 'linux', channel: 'stable' };
    await tenant.report([{ ...device, labels: { ring: 'beta' } }]);
    await admin(node, 'POST', 'channels', { app, name: 'gated' });
    await admin(node, 'PATCH', 'channels', { app, name: 'gated', approvals: 'one' });
    const asked = await tenant.publish('5.0.0', { channel: 'gated' });
    const { id: approval } = (asked.body?.approval ?? {}) as { id: string };
    const idOf = async (path: string, body: object) =>
      String((await admin(node, 'POST', path, body)).body?.id);
    const invited = { org, email: `${randomId()}@example.com`, role: 'viewer' };
    const hook = { kind: 'webhook', name: 'ops', url: 'https://ops.example.com/hook' };
    ({ appId, secret: key } = tenant);
    world = {
      ...{ org, app, approval, account: (await member(node, org, 'viewer')).accountId },
      key: await idOf('keys', { org, name: 'k' }),
      invitation: await idOf('invitations', invited),
      destination: await idOf(`destinations?org=${org}`, hook),
    };
  });

  /** Returns everything that a call of these tests could change, as the operator sees it. */
  async function state(): Promise<readonly string[]> {
    const { org, app } = world;
    const paths = [`members?org=${org}`, `keys?org=${org}`, `approvals?org=${org}`];
    paths.push(`releases?app=${app}&channel=stable`, `webhooks?app=${app}`);
    paths.push(`ddi-credentials?app=${app}`);
    const answers = await Promise.all(paths.map((path) => admin(node, 'GET', path)));
    const { status, body } = await admin(node, 'GET', `audit?org=${org}&limit=1000`);
    expect(status).toBe(200);
    // Tokens of other suites are in the audit of every organization; those of these tests have this name.
    const entries = (body?.entries ?? []) as { action: string; after: { name?: string } }[];
    const audited = entries.filter(
      ({ action, after }) => !action.startsWith('edge-token.') || after.name === 'edge',
    );
    // The time of a key's last use may be written at any moment.
    const texts = answers.map(({ text }) =>
      text.replace(/"lastUsed(?:At|From)":(?:null|"[^"]*")/g, ''),
    );
    return [JSON.stringify(audited), ...texts];
  }

  const isOfTenant = (needed: Needed) => ROLES.includes(needed as Role);

  it('the table has every call', () => {
    const stub: unknown = new Proxy(() => stub, { get: () => stub, apply: () => stub });
    const services = { accounts: stub, ledger: stub, webhooks: stub, oidc: stub };
    const routes = consoleRoutes(services as never).map(
      ({ method, path }) => `${method} ${path.replace('/console/api/', '')}`,
    );
    const names = Object.fromEntries([...MADE, 'org', 'app'].map((name) => [name, ':id']));
    const listed = calls(names as World).map(([, method, path]) => {
      const plain = path.replace(/\?.*/, '').replace(/\w+_unknown/, ':id');
      return `${method} ${plain.replace('dlv_1', ':delivery')}`;
    });
    expect(new Set([...listed, ...OPEN])).toEqual(new Set(routes));
  });

  describe('below its right a call is refused, and changes nothing', () => {
    let before: readonly string[];
    beforeAll(async () => {
      before = await state();
      return async () => expect(await state()).toEqual(before);
    });

    it('without a session and with the key of a publisher it is 401', async () => {
      for (const [, method, path, body] of calls(world)) {
        const nobody = await new Person(node).call(method, path, body);
        expectError(nobody, 401, 'Sign in first');
        const headers = { authorization: `Bearer ${key}` };
        const answer = await send(node, method, `/console/api/${path}`, { body, headers });
        expectError(answer, 401, 'Invalid admin token');
      }
    });

    it('to strangers what it is about is unknown, by ref and by id', async () => {
      for (const app of [world.app, appId]) {
        for (const [needed, ...call] of calls({ ...world, app })) {
          if (!isOfTenant(needed)) continue;
          const { status, body } = await stranger.call(...call);
          const told = [call.slice(0, 2).join(' '), status, body?.error];
          expect(told).toEqual([told[0], 404, expect.stringMatching(/^Unknown /)]);
        }
      }
      // Names a member of the other organization below the caller's own.
      const foreign = { org: strangersOrg, account: people.viewer.accountId };
      const named: readonly Call[] = [
        ['PATCH', 'members', { ...foreign, role: 'viewer' }],
        ['DELETE', 'members', foreign],
        ['POST', 'members/recover', foreign],
      ];
      for (const call of named) {
        expectError(await stranger.call(...call), 404, 'Unknown member');
      }
    });

    it('to a lower role it is 403, and so is what only the operator may', async () => {
      for (const [needed, ...call] of calls(world)) {
        const rank = ROLES.indexOf(needed as Role);
        for (const role of needed === 'operator' ? ROLES : ROLES.slice(rank + 1)) {
          if (needed === 'person' || needed === 'visitor') continue;
          const { status, body } = await people[role].call(...call);
          const told = [role, ...call.slice(0, 2), status, body];
          expect(told).toEqual([...told.slice(0, 3), 403, { error: FORBIDDEN }]);
        }
        if (needed !== 'person') continue;
        const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
        const [method, path, body] = call;
        const answer = await send(node, method, `/console/api/${path}`, { body, headers });
        expectError(answer, 401, 'Sign in first');
      }
    });

    it('a session without the second factor that the organization asks for has none (403); keys and the operator have theirs', async () => {
      const demand = (requireSecondFactor: boolean) =>
        admin(node, 'PATCH', 'organizations', { org: world.org, requireSecondFactor });
      expect((await demand(true)).status).toBe(200);
      before = await state();
      for (const [needed, ...call] of calls(world)) {
        if (!isOfTenant(needed)) continue;
        const { status, body } = await people.owner.call(...call);
        const told = [call.slice(0, 2).join(' '), status, body?.error];
        expect(told).toEqual([told[0], 403, 'This organization asks for a second factor']);
      }
      expect(await state()).toEqual(before);
      expect((await new Tenant(node, { secret: key }).manage('GET', 'apps')).status).toBe(200);
      expect((await demand(false)).status).toBe(200);
      before = await state();
    });
  });

  it('each call is made by who has just the right that it needs, and each read by all above', async () => {
    for (const [needed, method, path, body] of calls(world)) {
      if (!isOfTenant(needed) || path.startsWith('live')) continue;
      const isLate = MAY_BE_LATE.some((each) => `${method} ${path}`.startsWith(each));
      const roles = ROLES.slice(0, ROLES.indexOf(needed as Role) + 1);
      for (const role of method === 'GET' ? roles : [needed as Role]) {
        const { status, text } = await people[role].call(method, path, body);
        const isUnseen = /Unknown (?:app|organization|destination|approval)"/.test(text);
        const isMade = status < 300 || (isLate && !isUnseen && [404, 409, 422].includes(status));
        expect(isMade, `${role} ${method} ${path} ${status} ${text}`).toBe(true);
      }
    }
  });

  it('a role counts as it is now: raised, lowered, taken away', async () => {
    const { org } = world;
    const person = await member(node, org, 'viewer');
    const { accountId: account } = person;
    const make = async () => (await person.call('POST', 'keys', { org, name: 'k' })).status;
    const become = (role: Role) => people.owner.call('PATCH', 'members', { org, account, role });
    expect(await make()).toBe(403);
    expect((await become('owner')).body).toMatchObject({ role: 'owner' });
    expect(await make()).toBe(201);
    await become('publisher');
    expect(await make()).toBe(403);
    expect((await people.owner.call('DELETE', 'members', { org, account })).status).toBe(200);
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(404);
    expect((await person.call('GET', 'session')).body).toMatchObject({ memberships: [] });
  });

  it('an organization keeps an owner (409), and what people do is audited under them, without a secret', async () => {
    const { org } = await createTenant(node);
    const owner = await member(node, org, 'owner');
    const seat = { org, account: owner.accountId };
    const last = 'An organization must keep an owner';
    expectError(await owner.call('PATCH', 'members', { ...seat, role: 'viewer' }), 409, last);
    expectError(await owner.call('DELETE', 'members', seat), 409, last);
    const { body } = await owner.call('POST', 'keys', { org, name: 'audited' });
    const audit = await owner.call('GET', `audit?org=${org}&limit=1000`);
    const actor = `account:${owner.email}`;
    expect(audit.body?.entries).toContainEqual(
      expect.objectContaining({ actor, action: 'key.create', subject: body?.id }),
    );
    const keys = await owner.call('GET', `keys?org=${org}`);
    expect(keys.body?.keys).toContainEqual(
      expect.objectContaining({ name: 'audited', createdBy: actor }),
    );
    for (const { text } of [audit, keys]) {
      for (const secret of [body?.secret, owner.token]) expect(text).not.toContain(secret);
    }
  });
});
