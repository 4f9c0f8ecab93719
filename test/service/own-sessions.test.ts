// Tests what people see of their own sessions, and how they end some of them.

import { beforeAll, expect, it } from 'vitest';
import { member, type Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, send, type Tenant } from '../support/tenant.ts';

const UNKNOWN = { error: 'Unknown session' };

type Shown = { readonly id: string; readonly current: boolean; readonly browser: string };

serviceSuite('own sessions', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  async function sessionsOf(person: Person): Promise<readonly Shown[]> {
    const answer = await person.call('GET', 'account/sessions');
    expect(answer.status).toBe(200);
    return answer.body?.sessions as Shown[];
  }

  const otherOf = async (person: Person) =>
    (await sessionsOf(person)).find(({ current }) => !current)?.id ?? '';

  const isOpen = async (person: Person) =>
    (await person.call('GET', `apps?org=${tenant.org}`)).status === 200;

  it('are listed with browser, address, times and how they were opened, never with a token', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const other = person.elsewhere();
    other.agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    await other.signIn();
    const answer = await other.call('GET', 'account/sessions');
    expect(answer.body?.sessions).toHaveLength(2);
    const [first] = (await sessionsOf(other)).filter(({ current }) => current);
    expect(first).toEqual({
      id: expect.stringMatching(/^ses_[0-9a-z]{26}$/),
      browser: 'Firefox on Linux',
      address: expect.stringMatching(/^[0-9a-f.:]+$/),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastUsedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      openedBy: 'password',
      secondFactor: false,
      current: true,
    });
    for (const secret of [person.token, other.token]) expect(answer.text).not.toContain(secret);
  });

  it('end one by one, by an id: the session of that id at once, and none of others', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const [second, third] = [await person.elsewhereSignedIn(), await person.elsewhereSignedIn()];
    const mine = (await sessionsOf(second)).find(({ current }) => current)?.id ?? '';
    const ended = await person.call('DELETE', `account/sessions/${mine}`);
    expect([ended.status, ended.body]).toEqual([200, {}]);
    expect([await isOpen(person), await isOpen(second), await isOpen(third)]).toEqual([
      true,
      false,
      true,
    ]);
    const again = await person.call('DELETE', `account/sessions/${mine}`);
    expect([again.status, again.body]).toEqual([404, UNKNOWN]);
  });

  it('are those of the person alone: the id of another one is unknown, also to an owner', async () => {
    const person = await member(node, tenant.org, 'viewer');
    await person.elsewhereSignedIn();
    const owner = await member(node, tenant.org, 'owner');
    const id = await otherOf(person);
    const refused = await owner.call('DELETE', `account/sessions/${id}`);
    expect([refused.status, refused.body]).toEqual([404, UNKNOWN]);
    expect(await sessionsOf(person)).toHaveLength(2);
    expect((await sessionsOf(owner)).map((each) => each.id)).not.toContain(id);
  });

  it.each(['nobody', 'nul%00', "quote'--", '%F0%9F%98%80', 'x'.repeat(1000)])(
    'of the id %s are unknown',
    async (id) => {
      const person = await member(node, tenant.org, 'viewer');
      const answer = await person.call('DELETE', `account/sessions/${id}`);
      expect([answer.status, answer.body]).toEqual([404, UNKNOWN]);
    },
  );

  it('end but for the one that says so; the audit tells how many', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const others = [await person.elsewhereSignedIn(), await person.elsewhereSignedIn()];
    const ended = await person.call('DELETE', 'account/sessions');
    expect([ended.status, ended.body]).toEqual([200, {}]);
    expect(await isOpen(person)).toBe(true);
    for (const each of others) expect(await isOpen(each)).toBe(false);
    const query = `audit?org=${tenant.org}&action=account.end-sessions&subject=${person.email}`;
    const { body } = await admin(node, 'GET', query);
    expect(body?.entries).toMatchObject([
      { actor: `account:${person.email}`, after: { sessions: 2 } },
    ]);
  });

  it('may end themselves', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const [own] = await sessionsOf(person);
    expect((await person.call('DELETE', `account/sessions/${own?.id}`)).status).toBe(200);
    expect(await isOpen(person)).toBe(false);
  });

  it('are nothing for strangers, the operator, or a page of another origin', async () => {
    const person = await member(node, tenant.org, 'viewer');
    await person.elsewhereSignedIn();
    const path = '/console/api/account/sessions';
    expect((await send(node, 'GET', path)).status).toBe(401);
    expect((await admin(node, 'GET', 'account/sessions')).status).toBe(401);
    expect((await admin(node, 'DELETE', 'account/sessions')).status).toBe(401);
    person.origin = 'https://evil.example.com';
    expect((await person.call('DELETE', 'account/sessions')).status).toBe(403);
    expect(await sessionsOf(person)).toHaveLength(2);
  });

  it('end each other at once: one of both may win, and nothing hangs', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const other = await person.elsewhereSignedIn();
    const [mine, theirs] = [await otherOf(other), await otherOf(person)];
    const answers = await Promise.all([
      person.call('DELETE', `account/sessions/${theirs}`),
      other.call('DELETE', `account/sessions/${mine}`),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  });
});
