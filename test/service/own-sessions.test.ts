// Tests what people see of their own sessions, and how they end some of them.

import { beforeAll, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { admin } from '../support/tenant.ts';

type Shown = { readonly id: string; readonly current: boolean };

serviceSuite('own sessions', (node) => {
  const tenant = suiteTenant(node);
  let person: Person;
  beforeAll(async () => {
    person = await member(node, tenant.org, 'viewer');
  });

  const end = (by: Person, id: string) => by.call('DELETE', `account/sessions/${id}`);
  const isOpen = async (each: Person) =>
    (await each.call('GET', `apps?org=${tenant.org}`)).status === 200;
  async function idOf(each: Person): Promise<string> {
    const { body } = await each.call('GET', 'account/sessions');
    return ((body?.sessions ?? []) as Shown[]).find(({ current }) => current)?.id ?? '';
  }

  it('are listed with browser, address, times and how they were opened, never with a token', async () => {
    const other = person.elsewhere();
    other.agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    await other.signIn();
    const { body, text } = await other.call('GET', 'account/sessions');
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(body?.sessions).toHaveLength(2);
    expect(body?.sessions).toContainEqual({
      ...{ id: expect.stringMatching(/^ses_[0-9a-z]{26}$/), browser: 'Firefox on Linux' },
      ...{ address: expect.stringMatching(/^[0-9a-f.:]+$/), createdAt: time, lastUsedAt: time },
      ...{ openedBy: 'password', secondFactor: false, current: true },
    });
    for (const secret of [person.token, other.token]) expect(text).not.toContain(secret);
  });

  it('end one by one, by an id: the own one too, at once, and none of others, whatever the id', async () => {
    const [second, third] = [await person.elsewhereSignedIn(), await person.elsewhereSignedIn()];
    const id = await idOf(second);
    const owner = await member(node, tenant.org, 'owner');
    for (const each of [id, 'nobody', 'nul%00', "quote'--", '%F0%9F%98%80', 'x'.repeat(1000)]) {
      expectError(await end(owner, each), 404, 'Unknown session');
    }
    expect((await owner.call('GET', 'account/sessions')).text).not.toContain(id);
    const ended = await end(person, id);
    expect([ended.status, ended.body]).toEqual([200, {}]);
    expect(await Promise.all([person, second, third].map(isOpen))).toEqual([true, false, true]);
    expectError(await end(person, id), 404, 'Unknown session');
    expect((await end(third, await idOf(third))).status).toBe(200);
    expect(await isOpen(third)).toBe(false);
  });

  it('end each other at once: one of both may win, and nothing hangs', async () => {
    const [one, two] = [await person.elsewhereSignedIn(), await person.elsewhereSignedIn()];
    const [ofOne, ofTwo] = [await idOf(one), await idOf(two)];
    const answers = await Promise.all([end(one, ofTwo), end(two, ofOne)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  });

  it('end but for the one that says so, which a page of another origin cannot; the audit tells how many', async () => {
    const one = await member(node, tenant.org, 'viewer');
    const others = [await one.elsewhereSignedIn(), await one.elsewhereSignedIn()];
    const { origin } = one;
    one.origin = 'https://evil.example.com';
    expect((await one.call('DELETE', 'account/sessions')).status).toBe(403);
    one.origin = origin;
    const ended = await one.call('DELETE', 'account/sessions');
    expect([ended.status, ended.body]).toEqual([200, {}]);
    expect(await Promise.all([one, ...others].map(isOpen))).toEqual([true, false, false]);
    const query = `audit?org=${tenant.org}&action=account.end-sessions&subject=${one.email}`;
    const { body } = await admin(node, 'GET', query);
    expect(body?.entries).toMatchObject([
      { actor: `account:${one.email}`, after: { sessions: 2 } },
    ]);
  });
});
