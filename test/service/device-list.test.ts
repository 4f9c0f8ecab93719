// Tests the console's list of devices and the views beside it: filters, pages and refusals, and what
// `sluice devices` prints of it (docs/console.md, The fleet).

import { beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type CommandResult, runSluiceHere } from '../support/sluice-command.ts';
import {
  admin,
  createTenant,
  devicesOf,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

serviceSuite('device list', (node) => {
  async function view(tenant: Tenant, path: string): Promise<Fields> {
    const answer = await admin(node, 'GET', `${path}app=${tenant.app}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body ?? {};
  }

  function sluice(...args: string[]): Promise<CommandResult> {
    return runSluiceHere(args, { SLUICE_URL: node.url, ADMIN_TOKEN });
  }

  const FLEET: readonly Fields[] = [
    { deviceId: 'a', version: '1.0.0', platform: 'linux', labels: { ring: 'inner', eq: 'a=b' } },
    { deviceId: 'b', version: '1.0.0', platform: 'darwin', channel: 'beta' },
    { deviceId: 'c', version: '2.0.0', platform: 'linux', channel: 'beta' },
    { deviceId: 'd', version: '2.0.0', platform: 'windows', labels: { ring: 'outer' } },
    { deviceId: 'e', version: '2.0.0+5', platform: 'linux', labels: { ring: '' } },
  ];

  let fleet: Tenant;
  beforeAll(async () => {
    fleet = await createTenant(node);
    expect((await report(node, fleet, FLEET)).status).toBe(200);
  });

  it('is filtered by what the query asks for', async () => {
    for (const [query, ids] of [
      ['', 'abcde'],
      ['version=1.0.0', 'ab'],
      ['version=2.0.0%2B5', 'e'],
      ['version=9', ''],
      ['channel=beta', 'bc'],
      ['platform=linux', 'ace'],
      ['label=ring%3Dinner', 'a'],
      ['label=ring%3D', 'e'],
      ['label=eq%3Da%3Db', 'a'],
      ['label=inner%3Dring', ''],
      ['version=2.0.0&channel=beta&platform=linux', 'c'],
      ['version=1.0.0&platform=windows', ''],
      ['after=b', 'cde'],
      ['after=e', ''],
      ['limit=2', 'ab'],
      ['platform=linux&after=a&limit=1', 'c'],
      ['seenSince=2020-01-01T00:00:00Z', 'abcde'],
      ['seenSince=2020-01-01T00:00:00%2B23:59', 'abcde'],
      ['seenSince=0001-01-01T00:00:00Z', 'abcde'],
      ['seenSince=9999-12-31T23:59:59.999Z', ''],
      ['seenSince=2100-01-01T00:00:00Z', ''],
    ] as const) {
      const listed = await devicesOf(node, fleet, query);
      expect([query, listed.map(({ deviceId }) => deviceId).join('')]).toEqual([query, ids]);
    }
  });

  it('since a moment has only the devices seen at or after it', async () => {
    const tenant = await createTenant(node);
    await report(node, tenant, FLEET);
    const [first] = await devicesOf(node, tenant);
    await report(node, tenant, [{ ...FLEET[2], version: '2.1.0' }]);
    // Devices are seen by the millisecond.
    await eventually('one of them is seen later', async () => {
      await report(node, tenant, [{ ...FLEET[2], version: '2.1.0' }]);
      return String((await view(tenant, 'device?deviceId=c&')).lastSeen) > String(first?.lastSeen);
    });
    const { lastSeen } = await view(tenant, 'device?deviceId=c&');
    const since = async (time: unknown) => {
      const listed = await devicesOf(node, tenant, `seenSince=${time}`);
      return listed.map(({ deviceId }) => deviceId).join('');
    };
    expect(await since(lastSeen)).toBe('c');
    expect(await since(first?.lastSeen)).toBe('abcde');
  });

  it('in pages has every device once, in order', async () => {
    const limit = 7;
    const tenant = await createTenant(node);
    const ids = ['B', 'a', 'ä', '🚀', ' ', 'z', '%', "'", '\\', '/'].flatMap((id) => [
      id,
      `${id}1`,
    ]);
    const devices = ids.map((deviceId) => ({ deviceId, version: '1', platform: 'linux' }));
    await report(node, tenant, devices);
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const from = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
      const answer = await admin(node, 'GET', `devices?app=${tenant.app}&limit=${limit}${from}`);
      const { devices: listed } = answer.body as { devices: Fields[] };
      const page = listed.map(({ deviceId }) => String(deviceId));
      expect(page.length).toBeLessThanOrEqual(limit);
      seen.push(...page);
      if (answer.body?.next === null) break;
      expect(answer.body?.next).toBe(page.at(-1));
      after = page.at(-1);
    }
    expect(seen.length).toBe(ids.length);
    expect([...seen].sort()).toEqual([...ids].sort());
  });

  it('with what is no filter is 400 that names it', async () => {
    const limits = ['0', '1001', 'x', '1.5', '-1'].map((limit) => `limit=${limit}`);
    const times = ['yesterday', '2026-01-01', '2026-13-01T00:00:00Z', '0000-01-01T00:00:00Z'];
    const since = [...times, '0001-01-01T00:00:00%2B01:00'].map((time) => `seenSince=${time}`);
    for (const query of [...limits, ...since, 'label=ring', 'label=%3Dinner']) {
      const { status, body } = await admin(node, 'GET', `devices?app=${fleet.app}&${query}`);
      const error = expect.stringMatching(`^${query.split('=')[0]}: `);
      expect([query, status, body]).toEqual([query, 400, { error }]);
    }
  });

  it.each(['devices', 'fleet', 'adoption', 'live', 'device?deviceId=d'])(
    '`%s` without app is 400, of an unknown app 404, without the token 401',
    async (path) => {
      const tenant = await createTenant(node);
      const [name, more = ''] = path.split('?');
      expect((await admin(node, 'GET', path)).status).toBe(400);
      const unknown = await admin(node, 'GET', `${name}?app=no-${randomId()}&${more}`);
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown app' }]);
      const url = `/console/api/${name}?app=${tenant.app}&${more}`;
      expect((await send(node, 'GET', url)).status).toBe(401);
      const headers = { authorization: `Bearer ${tenant.secret}` };
      expect((await send(node, 'GET', url, { headers })).status).toBe(401);
    },
  );

  it('is what `sluice devices` prints, as far as its limit goes (docs/operating/commands.md)', async () => {
    const tenant = fleet;
    const all = await sluice('devices', '--app', tenant.app, '--json');
    expect([all.code, all.stderr]).toEqual([0, '']);
    expect(JSON.parse(all.stdout).devices).toEqual(await devicesOf(node, tenant));
    const two = await sluice('devices', '--app', tenant.app, '--limit', '2', '--json');
    const ids = (JSON.parse(two.stdout).devices as Fields[]).map(({ deviceId }) => deviceId);
    expect(ids).toEqual(['a', 'b']);
  });

  it('of an unknown app, or with a limit that is none, fails in one line (docs/operating/commands.md)', async () => {
    const unknown = await sluice('devices', '--app', `no-${randomId()}`, '--json');
    expect([unknown.code, unknown.stdout]).toEqual([1, '']);
    expect(unknown.stderr).toMatch(/^sluice: [^\n]+\n$/);
    const nonsense = await sluice('devices', '--app', 'a', '--limit', 'many', '--json');
    expect([nonsense.code, nonsense.stdout]).toEqual([2, '']);
    expect((await sluice('devices', '--json')).code).toBe(2);
  });

  it('of an app without devices is empty, and so are the other views (§4.7.6)', async () => {
    const tenant = await createTenant(node);
    const seen = { total: 0, now: 0, day: 0, week: 0, isEstimate: false };
    expect(await view(tenant, 'fleet?')).toEqual({ cells: [], ...seen });
    expect(await view(tenant, 'adoption?')).toEqual({ points: [] });
    expect(await view(tenant, 'devices?')).toEqual({ devices: [], next: null });
  });

  it('adoption since what is no time is 400 that names it', async () => {
    const tenant = await createTenant(node);
    for (const since of ['yesterday', '0000-01-01T00:00:00Z']) {
      const answer = await admin(node, 'GET', `adoption?app=${tenant.app}&since=${since}`);
      expect([answer.status, answer.body]).toEqual([
        400,
        { error: 'since: Must be an RFC 3339 time' },
      ]);
    }
    const path = `adoption?since=2020-01-01T00:00:00${encodeURIComponent('+23:59')}&`;
    expect(await view(tenant, path)).toEqual({ points: [] });
  });
});
