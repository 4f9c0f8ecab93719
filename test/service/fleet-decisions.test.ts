// Tests the planning of update waves over HTTP (docs/contract.md 4.6, 13, 14 and 17): its answer, what it
// leaves on record, and who may ask. What each device is decided is tested in
// test/serving/fleet-decisions.test.ts, fields that are wrong in test/http/field.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { anotherApp, release } from '../support/released.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  ARTIFACT,
  admin,
  anotherKey,
  control,
  createTenant,
  decisions,
  devicesOf,
  report,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' } as const;

serviceSuite('fleet decisions', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  /** Another app of the tenant, with 2.0.0 on stable. */
  const withRelease = (more: Fields = {}) => anotherApp(node, tenant, ['2.0.0', more]);

  async function versionsFor(of: Tenant, devices: readonly unknown[], more: Fields = {}) {
    const { body, text } = await decisions(node, of, devices, more);
    const decided = body?.decisions as { readonly update: Fields | null }[] | undefined;
    expect(body?.updatesOffered, text).toBe(decided?.filter(({ update }) => update).length);
    return decided?.map(({ update }) => update?.version ?? null);
  }

  /** Whether the release counts as offered: its rollout cannot be lowered then. */
  async function isOffered(of: Tenant, version = '2.0.0'): Promise<boolean> {
    const { status } = await control(node, of, version, { rollout: 0 });
    expect([200, 422]).toContain(status);
    return status === 422;
  }

  it("the answer is 200 with exactly the contract's fields; each device is a check-in with source push (§2.7, §4.6, §17.1)", async () => {
    const made = await withRelease({ notes: 'Größer & "better"' });
    const devices = [DEVICE, { deviceId: 'e "ü"', version: 'v3', platform: 'macOS' }];
    const answer = await decisions(node, made, devices, { app: made.appId });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const { url, signature } = ARTIFACT;
    const said = { version: '2.0.0', notes: 'Größer & "better"', updateMode: 'optional' };
    const update = { ...said, pub_date: TIME, url, signature };
    const decided = [
      { deviceId: 'd', update },
      { deviceId: 'e "ü"', update: null },
    ];
    const told = { app: made.app, channel: 'stable', decisions: decided, updatesOffered: 1 };
    expect(answer.body).toStrictEqual(told);
    expect(Object.keys(answer.body ?? {})).toEqual(Object.keys(told));
    const [offered, none] = await devicesOf(node, made);
    expect(offered).toStrictEqual({
      ...{ ...DEVICE, channel: 'stable', labels: {}, source: 'push', client: 'push', bundle: null },
      ...{ firstSeen: TIME, lastSeen: TIME, lastOffered: { version: '2.0.0', at: TIME } },
    });
    const other = { deviceId: 'e "ü"', version: '3.0.0', platform: 'darwin', arch: null };
    expect(none).toMatchObject({ ...other, lastOffered: null });
    expect(await isOffered(made)).toBe(true);
  });

  it('is for the channel asked for, by the labels stored right before; a device reported before is the same one (§4.6, §17.1, §17.5)', async () => {
    const made = await withRelease({ targets: { matchLabels: { ring: ['inner'] } } });
    await release(node, made, '3.0.0', { channel: 'beta' });
    const tell = (deviceId: string, ring: string) =>
      report(node, made, [{ ...DEVICE, deviceId, channel: 'beta', labels: { ring } }]);
    const devices = ['in', 'new', 'out'].map((deviceId) => ({ ...DEVICE, deviceId }));
    await tell('in', 'inner');
    await tell('out', 'outer');
    expect(await versionsFor(made, devices)).toEqual(['2.0.0', null, null]);
    await tell('new', 'inner');
    expect(await versionsFor(made, devices)).toEqual(['2.0.0', '2.0.0', null]);
    const stored = { deviceId: 'in', channel: 'stable', labels: { ring: 'inner' } };
    expect(await devicesOf(node, made)).toMatchObject([stored, {}, {}]);
    expect(await versionsFor(made, [DEVICE], { channel: 'beta' })).toEqual(['3.0.0']);
  });

  it('a wave of 500 devices is taken; only what was in a decision counts as offered (§4.6, §8, §14.1)', async () => {
    const made = await withRelease();
    await release(node, made, '2.1.0');
    const wave = (version: string) =>
      Array.from({ length: 500 }, (_, index) => ({ ...DEVICE, deviceId: `d${index}`, version }));
    const areOffered = async () => [await isOffered(made), await isOffered(made, '2.1.0')];
    await versionsFor(made, wave('2.1.0'));
    expect(await devicesOf(node, made)).toHaveLength(500);
    expect(await areOffered()).toEqual([false, false]);
    await control(node, made, '2.1.0', { rollout: 100 });
    const versions = await versionsFor(made, wave('1.0.0'), { dryRun: false });
    expect(new Set(versions)).toEqual(new Set(['2.1.0']));
    expect(await areOffered()).toEqual([false, true]);
  });

  it('a dry run and a refused wave write nothing: no device, no check-in, no offer; each is one hit of the rate limit (§4.6, §5.1, §7.1, §8)', async () => {
    // A key of its own, whose window begins here.
    const made = await anotherKey(node, await withRelease());
    await report(node, made, [{ ...DEVICE, deviceId: 'known', version: '0.1.0' }]);
    const before = await devicesOf(node, made);
    const devices = [DEVICE, { ...DEVICE, deviceId: 'known' }];
    const remaining: number[] = [];
    for (const [change, status, error] of [
      [{ dryRun: true }, 200],
      [{ devices: [{ ...DEVICE, version: 'x' }] }, 400, 'devices.0.version: Invalid version'],
      [{ app: 'no-such' }, 404, 'Unknown app'],
      [{ channel: 'nightly' }, 404, 'Unknown channel'],
      [{ channel: 'nightly', dryRun: true }, 404, 'Unknown channel'],
    ] as const) {
      const answer = await decisions(node, made, devices, change);
      expect([answer.status, answer.body?.error]).toEqual([status, error]);
      remaining.push(Number(answer.headers.get('ratelimit-remaining')));
    }
    const [most = 0] = remaining;
    expect(remaining).toEqual([0, 1, 2, 3, 4].map((hits) => most - hits));
    expect(await versionsFor(made, devices, { dryRun: true })).toEqual(['2.0.0', '2.0.0']);
    expect((await decisions(node, { ...made, secret: 'x' }, [])).status).toBe(401);
    expect(await devicesOf(node, made)).toEqual(before);
    const { body: fleet } = await admin(node, 'GET', `fleet?app=${made.app}`);
    const cell = { channel: 'stable', version: '0.1.0', platform: 'linux', devices: 1 };
    expect(fleet?.cells).toEqual([cell]);
    expect(await isOffered(made)).toBe(false);
  });
});
