// Tests the console's list of devices and the views beside it: the way of each parameter, refusals, and
// views of an app without devices (docs/console.md, The fleet). Filters and pages are tested in
// test/store/ledger/fleet-reads-contract.ts, times in test/http/field.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { admin, createTenant, randomId } from '../support/tenant.ts';

const FLEET = [
  { deviceId: 'a', version: '1.0.0', platform: 'linux', labels: { ring: 'inner', eq: 'a=b' } },
  { deviceId: 'b', version: '1.0.0', platform: 'darwin', channel: 'beta' },
  { deviceId: 'c', version: '2.0.0', platform: 'linux', channel: 'beta' },
  { deviceId: 'd', version: '2.0.0', platform: 'windows', labels: { ring: 'outer' } },
  { deviceId: 'e é/%', version: '2.0.0+5', platform: 'linux', labels: { ring: '' } },
];

serviceSuite('device list', (node) => {
  const fleet = suiteTenant(node);
  beforeAll(async () => {
    expect((await fleet.report(FLEET)).status).toBe(200);
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
      ['version=2.0.0&channel=beta&platform=linux', 'c'],
      ['platform=linux&after=a&limit=1', 'c'],
      ['seenSince=2020-01-01T00:00:00%2B23:59', 'abcde'],
      ['seenSince=2100-01-01T00:00:00Z', ''],
    ] as const) {
      const listed = await fleet.devices(query);
      expect([query, listed.map(({ deviceId }) => String(deviceId)[0]).join('')]).toEqual([
        query,
        ids,
      ]);
    }
  });

  it('names by which id the next page begins, and has the rest there', async () => {
    const page = async (from: string) =>
      (await admin(node, 'GET', `devices?app=${fleet.app}&limit=3${from}`)).body;
    expect(await page('')).toMatchObject({ devices: [{}, {}, { deviceId: 'c' }], next: 'c' });
    const rest = [{ deviceId: 'd' }, { deviceId: 'e é/%' }];
    expect(await page('&after=c')).toMatchObject({ devices: rest, next: null });
    expect(await page(`&after=${encodeURIComponent('e é/%')}`)).toEqual({
      devices: [],
      next: null,
    });
  });

  it.each<readonly [path: string, query: string, error: RegExp]>([
    ...['0', '1001', 'x', '1.5', '-1'].map(
      (limit) => ['devices', `limit=${limit}`, /^limit: /] as const,
    ),
    ['devices', 'seenSince=2026-01-01', /^seenSince: Must be an RFC 3339 time$/],
    ['devices', 'label=ring', /^label: /],
    ['devices', 'label=%3Dinner', /^label: /],
    ['adoption', 'since=0000-01-01T00:00:00Z', /^since: Must be an RFC 3339 time$/],
  ])('%s with %s is 400 that names it', async (path, query, error) => {
    const { status, body } = await admin(node, 'GET', `${path}?app=${fleet.app}&${query}`);
    expect([status, body]).toEqual([400, { error: expect.stringMatching(error) }]);
  });

  it.each(['devices', 'fleet', 'adoption', 'live', 'device?deviceId=d'])(
    '`%s` without app is 400, of an unknown app 404',
    async (path) => {
      const [name, more = ''] = path.split('?');
      expect((await admin(node, 'GET', path)).status).toBe(400);
      const unknown = await admin(node, 'GET', `${name}?app=no-${randomId()}&${more}`);
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown app' }]);
    },
  );

  it('of an app without devices is empty, and so are the other views (§4.7.6)', async () => {
    const { app } = await createTenant(node);
    const seen = { total: 0, now: 0, day: 0, week: 0, isEstimate: false };
    for (const [path, view] of [
      [`fleet?app=${app}`, { cells: [], ...seen }],
      [`adoption?app=${app}&since=2020-01-01T00:00:00%2B23:59`, { points: [] }],
      [`devices?app=${app}`, { devices: [], next: null }],
    ] as const) {
      const { status, body } = await admin(node, 'GET', path);
      expect([status, body]).toEqual([200, view]);
    }
  });
});
