// Tests what each role may do at the console, and that no person sees or changes what belongs to others:
// every endpoint, for every role, at once when a role changes.

import { beforeAll, describe, expect, it } from 'vitest';
import { type Call, consoleWrites, type Role } from '../support/console-writes.ts';
import { member, Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  createTenant,
  publish,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const ROLES: readonly Role[] = ['owner', 'publisher', 'viewer'];
const FORBIDDEN = { error: 'Your role may not do this' };

/** Returns the calls that read everything of a tenant. */
function reads({ app, org }: Tenant): readonly Call[] {
  return [
    ['GET', `apps?org=${org}`],
    ['GET', `members?org=${org}`],
    ['GET', `keys?org=${org}`],
    ['GET', `audit?org=${org}`],
    ['GET', `channel?app=${app}&channel=stable`],
    ['GET', `releases?app=${app}&channel=stable`],
    ['GET', `release?app=${app}&channel=stable&version=1.0.0`],
    ['GET', `labels?app=${app}`],
    ['GET', `devices?app=${app}`],
    ['GET', `device?app=${app}&deviceId=d1`],
    ['GET', `fleet?app=${app}`],
    ['GET', `adoption?app=${app}`],
    ['GET', `adoption?app=${app}&step=day`],
    ['GET', `decision?app=${app}&deviceId=d1`],
    ['GET', `webhooks?app=${app}`],
  ];
}

serviceSuite('roles at the console', (node) => {
  let tenant: Tenant;
  let other: Tenant;
  const people = {} as Record<Role, Person>;
  let stranger: Person;

  beforeAll(async () => {
    [tenant, other] = [await createTenant(node), await createTenant(node)];
    for (const role of ROLES) people[role] = await member(node, tenant.org, role);
    stranger = await member(node, other.org, 'owner');
    await publish(node, tenant, '1.0.0');
    const device = { deviceId: 'd1', version: '0.9.0', platform: 'linux', channel: 'stable' };
    await report(node, tenant, [{ ...device, labels: { ring: 'beta' } }]);
  });

  async function makeSubjects() {
    const key = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'k' });
    const body = { org: tenant.org, email: `${randomId()}@example.com`, role: 'viewer' };
    const invitation = await admin(node, 'POST', 'invitations', body);
    const { accountId } = await member(node, tenant.org, 'viewer');
    return { keyId: String(key.body?.id), invitationId: String(invitation.body?.id), accountId };
  }

  /** Returns everything that a write of these tests could change, as the operator sees it. */
  async function stateOf({ app, org }: Tenant): Promise<readonly string[]> {
    const paths = [
      `audit?org=${org}&limit=1000`,
      `members?org=${org}`,
      `keys?org=${org}`,
      `releases?app=${app}&channel=stable&perPage=100`,
      `webhooks?app=${app}`,
    ];
    const answers = await Promise.all(paths.map((path) => admin(node, 'GET', path)));
    // The time of a key's last use may be written at any moment.
    return answers.map(({ text }) => text.replace(/"lastUsed(?:At|From)":(?:null|"[^"]*")/g, ''));
  }

  it('every member reads everything', async () => {
    for (const role of ROLES) {
      for (const call of reads(tenant)) {
        const answer = await people[role].call(...call);
        expect(answer.status, `${role} ${call.join(' ')} ${answer.text}`).toBe(200);
      }
    }
  });

  it('each write is done by those whose role is high enough, and refused to the others with nothing changed', async () => {
    const made = await makeSubjects();
    for (const [needed, ...call] of consoleWrites(tenant, made)) {
      const [method, path] = call;
      for (const role of [...ROLES].reverse()) {
        const isEnough = ROLES.indexOf(role) <= ROLES.indexOf(needed);
        if (isEnough) continue;
        const before = await stateOf(tenant);
        const answer = await people[role].call(...call);
        expect([answer.status, answer.body], `${role} ${method} ${path}`).toEqual([403, FORBIDDEN]);
        expect(await stateOf(tenant)).toEqual(before);
      }
    }
    for (const role of ['publisher', 'owner'] as const) {
      for (const [needed, ...call] of consoleWrites(tenant, await makeSubjects())) {
        if (ROLES.indexOf(role) > ROLES.indexOf(needed)) continue;
        const answer = await people[role].call(...call);
        expect([200, 201], `${role} ${call[0]} ${call[1]} ${answer.text}`).toContain(answer.status);
      }
    }
  });

  it("what belongs to others is unknown, to read and to write, by ref, by id, and with one's own organization named", async () => {
    const made = await makeSubjects();
    const before = await stateOf(tenant);
    const byId = { ...tenant, app: tenant.appId };
    const calls: Call[] = [...reads(tenant), ...reads(byId), ['GET', `live?app=${tenant.app}`]];
    for (const target of [tenant, byId]) {
      calls.push(...consoleWrites(target, made).map(([, ...call]): Call => call));
    }
    for (const call of calls) {
      const answer = await stranger.call(...call);
      expect(answer.status, `${call[0]} ${call[1]} ${answer.text}`).toBe(404);
      expect(String(answer.body?.error)).toMatch(/^Unknown /);
    }
    // Names a member of the other organization below the caller's own.
    const foreign = { org: other.org, account: people.viewer.accountId };
    for (const [method, body] of [
      ['PATCH', { ...foreign, role: 'viewer' }],
      ['DELETE', foreign],
    ] as const) {
      const answer = await stranger.call(method, 'members', body);
      expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown member' }]);
    }
    expect(await stateOf(tenant)).toEqual(before);
  });

  it('without a session everything is 401, also with the key of a publisher', async () => {
    const made = await makeSubjects();
    const calls = [
      ...reads(tenant),
      ...consoleWrites(tenant, made).map(([, ...call]): Call => call),
    ];
    const headers = { authorization: `Bearer ${tenant.secret}` };
    for (const [method, path, body] of calls) {
      const url = `/console/api/${path}`;
      expect((await new Person(node).call(method, path, body)).status).toBe(401);
      expect((await send(node, method, url, { body, headers })).status).toBe(401);
    }
  });

  it('a role counts as it is now: raised, lowered, taken away', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const make = (): Promise<Answer> => person.call('POST', 'keys', { org: tenant.org, name: 'k' });
    const become = (role: Role) =>
      people.owner.call('PATCH', 'members', { org: tenant.org, account: person.accountId, role });
    expect((await make()).status).toBe(403);
    expect((await become('owner')).body).toMatchObject({ role: 'owner' });
    expect((await make()).status).toBe(201);
    await become('publisher');
    expect((await make()).status).toBe(403);
    const path = `apps?org=${tenant.org}`;
    expect((await person.call('GET', path)).status).toBe(200);
    const gone = { org: tenant.org, account: person.accountId };
    expect((await people.owner.call('DELETE', 'members', gone)).status).toBe(200);
    expect((await person.call('GET', path)).status).toBe(404);
    expect((await person.call('GET', 'session')).body).toMatchObject({ memberships: [] });
  });

  it('is audited under the person, and never with a secret', async () => {
    const { owner } = people;
    const key = await owner.call('POST', 'keys', { org: tenant.org, name: 'audited' });
    const { body } = await owner.call('GET', `audit?org=${tenant.org}&action=key&limit=1`);
    expect(body?.entries).toEqual([
      expect.objectContaining({
        actor: `account:${owner.email}`,
        action: 'key.create',
        subject: key.body?.id,
      }),
    ]);
    const all = await owner.call('GET', `audit?org=${tenant.org}&limit=1000`);
    for (const secret of [key.body?.secret, owner.token]) expect(all.text).not.toContain(secret);
    const keys = await owner.call('GET', `keys?org=${tenant.org}`);
    expect(keys.text).not.toContain(String(key.body?.secret));
    expect(keys.body?.keys).toContainEqual(
      expect.objectContaining({ name: 'audited', createdBy: `account:${owner.email}` }),
    );
  });

  describe('an organization', () => {
    it('keeps an owner: the last one is neither demoted nor removed, not even by two at once', async () => {
      const { org } = await createTenant(node);
      const first = await member(node, org, 'owner');
      const account = first.accountId;
      const last = { error: 'An organization must keep an owner' };
      const demote = (by: Person, whom: string) =>
        by.call('PATCH', 'members', { org, account: whom, role: 'viewer' });
      const refused = await demote(first, account);
      expect([refused.status, refused.body]).toEqual([409, last]);
      expect((await first.call('DELETE', 'members', { org, account })).body).toEqual(last);
      const second = await member(node, org, 'owner');
      const [one, two] = await Promise.all([
        demote(first, second.accountId),
        demote(second, account),
      ]);
      const { body } = await admin(node, 'GET', `members?org=${org}`);
      const owners = ((body?.members ?? []) as { role: string }[]).filter(
        ({ role }) => role === 'owner',
      );
      expect(owners.length, `${one.status} ${two.status}`).toBe(1);
    });
  });
});
