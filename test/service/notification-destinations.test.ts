// Tests the console API of destinations over HTTP, and the command: what it answers, what it refuses,
// and where a secret may appear.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, createTenant, type Json } from '../support/tenant.ts';

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
const HOOK = { kind: 'webhook', name: 'ops', url: 'https://ops.example.com/hook' };

serviceSuite('destinations of notifications', (node) => {
  const tenant = suiteTenant(node);
  let owner: Person;

  beforeAll(async () => {
    owner = await member(node, tenant.org, 'owner');
  });

  let destination: Json;
  beforeEach(async () => {
    destination = await add();
  });

  async function add(parts: object = {}): Promise<Json> {
    const body = { ...HOOK, ...parts };
    const answer = await owner.call('POST', `destinations?org=${tenant.org}`, body);
    expect(answer.status, answer.text).toBe(201);
    return answer.body as Json;
  }

  const at = (rest = '') => `destinations/${String(destination.id)}${rest}`;

  async function deliveries(): Promise<readonly Json[]> {
    const answer = await owner.call('GET', at('/deliveries'));
    expect(answer.status, answer.text).toBe(200);
    return (answer.body as { deliveries: readonly Json[] }).deliveries;
  }

  it('a webhook is added with its secret, which no later answer has; only a new url or a rotation gives another (§30.5, §30.7)', async () => {
    const { secret, ...shown } = destination;
    expect(secret).toMatch(SECRET);
    expect(shown).toEqual({
      ...{ ...HOOK, id: expect.stringMatching(/^dst_/), to: null, recipient: null },
      ...{ events: null, apps: null, enabled: true, disabledWhy: null, failingSince: null },
      ...{ createdAt: expect.any(String), createdBy: `account:${owner.email}` },
    });
    const list = await owner.call('GET', `destinations?org=${tenant.org}`);
    expect((list.body as { destinations: Json[] }).destinations).toContainEqual(shown);
    expect((await owner.call('GET', at())).body).toEqual(shown);
    const change = { name: 'night', events: ['plan.*', 'release.paused'], apps: [tenant.app] };
    const changed = await owner.call('PATCH', at(), { ...change, enabled: false });
    expect(changed.body).toEqual({ ...shown, ...change, enabled: false });
    const all = { events: null, apps: null, enabled: true };
    expect((await owner.call('PATCH', at(), all)).body).toEqual({ ...shown, name: 'night' });
    const url = 'https://other.example.com/hook';
    const moved = await owner.call('PATCH', at(), { url });
    expect(moved.body).toMatchObject({ url, secret: expect.stringMatching(SECRET) });
    const rotated = await owner.call('POST', at('/rotate'));
    expect(rotated.body).toEqual({ secret: expect.stringMatching(SECRET) });
    expect(list.text + JSON.stringify(await tenant.audit())).not.toMatch(/whsec_/);
    expect(JSON.stringify(await tenant.audit())).not.toContain('/hook');
    expect((await owner.call('DELETE', at())).body).toEqual({ id: destination.id });
    expectError(await owner.call('GET', at()), 404, 'Unknown destination');
  });

  it('what happens is listed as deliveries; a test and a repetition, ten a minute (§30.8)', async () => {
    await tenant.publish('1.0.0');
    // It is there with the answer: it was written in the same transaction.
    const first = await deliveries();
    const event = expect.stringMatching(/^evt_/);
    expect(first[0]).toMatchObject({ event, type: 'release.published' });
    const test = await owner.call('POST', at('/test'));
    expect([test.status, test.body]).toMatchObject([202, { delivery: { type: 'test' } }]);
    const again = at(`/deliveries/${String(first[0]?.id)}/send-again`);
    for (let count = 0; count < 9; count++) {
      const answer = await owner.call('POST', again);
      expect([answer.status, answer.body]).toMatchObject([202, { delivery: { id: first[0]?.id } }]);
    }
    for (const path of [again, at('/test')]) {
      const refused = await owner.call('POST', path);
      expectError(refused, 429, 'Rate limit exceeded');
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    const page = await owner.call('GET', at('/deliveries?limit=1'));
    const { next } = page.body as { next: string };
    const rest = await owner.call('GET', at(`/deliveries?before=${next}`));
    expect(rest.body).toMatchObject({ deliveries: [{ type: 'release.published' }], next: null });
  });

  it('what is wrong is refused with its field, and what cannot be is 404 or 409 (§30.5)', async () => {
    const path = `destinations?org=${tenant.org}`;
    for (const [parts, message] of [
      [{ kind: 'pigeon' }, 'kind'],
      [{ name: '' }, 'name'],
      [{ url: undefined }, 'url: Required'],
      [{ url: 'https://127.0.0.1/hook' }, 'url'],
      [{ to: 'ada@example.com' }, 'to: Only mail has a recipient'],
      [{ kind: 'mail' }, 'url: Mail has no url'],
      [{ kind: 'mail', url: undefined }, 'to: Required'],
      [{ events: [] }, 'events'],
      [{ events: ['release.exploded'] }, 'events.0'],
      [{ apps: [] }, 'apps'],
      [{ secret: 'whsec_mine' }, 'secret'],
      [{ enabled: 'yes' }, 'enabled'],
    ] as const) {
      const answer = await owner.call('POST', path, { ...HOOK, ...parts });
      expectError(answer, 400, expect.stringContaining(message));
    }
    const unknown = await owner.call('POST', path, { ...HOOK, apps: ['no-such-app'] });
    expectError(unknown, 404, 'Unknown app no-such-app');
    const { app } = await createTenant(node);
    const foreign = await owner.call('POST', path, { ...HOOK, apps: [app] });
    expectError(foreign, 404, `Unknown app ${app}`);
    const { url: _, ...named } = HOOK;
    const mail = await owner.call('POST', path, { ...named, kind: 'mail', to: owner.email });
    expectError(mail, 409, 'Mail cannot be sent: SMTP_URL is not set');
    const slack = await add({ kind: 'slack', org: tenant.org });
    expect(slack).not.toHaveProperty('secret');
    const rotated = await owner.call('POST', `destinations/${String(slack.id)}/rotate`);
    expectError(rotated, 409, 'Only a webhook has a secret');
    const nothing = at('/deliveries/dlv_none/send-again');
    expectError(await owner.call('POST', nothing), 404, 'Unknown delivery');
    await owner.call('PATCH', at(), { enabled: false });
    const off = 'This destination is off: turn it on first';
    expectError(await owner.call('POST', at('/test')), 409, off);
  });

  it('sluice notify adds, lists, tests and removes, and names the setting that would allow an address (Command line)', async () => {
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    async function sluice(...args: string[]): Promise<Json> {
      const { code, stdout, stderr } = await runSluiceHere([...args, '--json'], env);
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as Json;
    }
    const named = ['--kind', 'webhook', '--url', HOOK.url, '--name', 'from the shell'];
    const asked = ['--events', 'plan.tripped,release.*', '--apps', tenant.app];
    const added = await sluice('notify', 'add', '--org', tenant.org, ...named, ...asked);
    expect(added).toMatchObject({
      ...{ events: ['plan.tripped', 'release.*'], apps: [tenant.app], name: 'from the shell' },
      secret: expect.stringMatching(SECRET),
    });
    const id = String(added.id);
    const list = await sluice('notify', 'list', '--org', tenant.org);
    expect((list.destinations as Json[]).map((each) => each.id)).toContain(id);
    expect(await sluice('notify', 'test', id)).toMatchObject({ delivery: { type: 'test' } });
    expect(await sluice('notify', 'remove', id)).toEqual({ id });
    expect((await admin(node, 'GET', `destinations/${id}`)).status).toBe(404);
    for (const [url, line] of [
      ['https://[::1]/hook', /^sluice: url: This address is not public; .* NOTIFY_PRIVATE /],
      ['http://93.184.216.34/', /^sluice: url: Must be an https:\/\/ address; .* NOTIFY_PRIVATE /],
      ['https://a:b@ops.example.com/', /^sluice: url: Must have no user name and password\n$/],
    ] as const) {
      const args = ['notify', 'add', '--org', tenant.org, ...named, '--url', url];
      const { code, stdout, stderr } = await runSluiceHere(args, env);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(line)]);
    }
  });
});
