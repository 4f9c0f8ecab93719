// Tests the planning of update waves over HTTP (docs/contract.md 4.6, 13, 14 and 17): its answer, what it
// leaves on record, and who may ask. What each device is decided is tested in
// test/serving/fleet-decisions.test.ts, fields that are wrong in test/http/field.test.ts.

import { expect, it } from 'vitest';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { ARTIFACT, admin, type Json, type Tenant } from '../support/tenant.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' } as const;

serviceSuite('fleet decisions', (node) => {
  const tenant = suiteTenant(node);

  /** Another app of the tenant, with 2.0.0 on stable. */
  const withRelease = (more: Json = {}) => tenant.anotherApp(['2.0.0', more]);

  async function versionsFor(of: Tenant, devices: readonly unknown[], more: Json = {}) {
    const { body, text } = await of.decisions(devices, more);
    const decided = body?.decisions as { readonly update: Json | null }[] | undefined;
    expect(body?.updatesOffered, text).toBe(decided?.filter(({ update }) => update).length);
    return decided?.map(({ update }) => update?.version ?? null);
  }

  /** Whether the release counts as offered: its rollout cannot be lowered then. */
  async function isOffered(of: Tenant, version = '2.0.0'): Promise<boolean> {
    const { status } = await of.control(version, { rollout: 0 });
    expect([200, 422]).toContain(status);
    return status === 422;
  }

  it("the answer is 200 with exactly the contract's fields; each device is a check-in with source push (§2.7, §4.6, §17.1)", async () => {
    const made = await withRelease({ notes: 'Größer & "better"' });
    const devices = [DEVICE, { deviceId: 'e "ü"', version: 'v3', platform: 'macOS' }];
    const answer = await made.decisions(devices, { app: made.appId });
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
    const [offered, none] = await made.devices();
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
    await made.release('3.0.0', { channel: 'beta' });
    const tell = (deviceId: string, ring: string) =>
      made.report([{ ...DEVICE, deviceId, channel: 'beta', labels: { ring } }]);
    const devices = ['in', 'new', 'out'].map((deviceId) => ({ ...DEVICE, deviceId }));
    await tell('in', 'inner');
    await tell('out', 'outer');
    expect(await versionsFor(made, devices)).toEqual(['2.0.0', null, null]);
    await tell('new', 'inner');
    expect(await versionsFor(made, devices)).toEqual(['2.0.0', '2.0.0', null]);
    const stored = { deviceId: 'in', channel: 'stable', labels: { ring: 'inner' } };
    expect(await made.devices()).toMatchObject([stored, {}, {}]);
    expect(await versionsFor(made, [DEVICE], { channel: 'beta' })).toEqual(['3.0.0']);
  });

  it('a wave of 500 devices is taken; only what was in a decision counts as offered (§4.6, §8, §14.1)', async () => {
    const made = await withRelease();
    await made.release('2.1.0');
    const wave = (version: string) =>
      Array.from({ length: 500 }, (_, index) => ({ ...DEVICE, deviceId: `d${index}`, version }));
    const areOffered = async () => [await isOffered(made), await isOffered(made, '2.1.0')];
    await versionsFor(made, wave('2.1.0'));
    expect(await made.devices()).toHaveLength(500);
    expect(await areOffered()).toEqual([false, false]);
    await made.control('2.1.0', { rollout: 100 });
    const versions = await versionsFor(made, wave('1.0.0'), { dryRun: false });
    expect(new Set(versions)).toEqual(new Set(['2.1.0']));
    expect(await areOffered()).toEqual([false, true]);
  });

  it('a dry run and a refused wave write nothing: no device, no check-in, no offer; each is one hit of the rate limit (§4.6, §5.1, §7.1, §8)', async () => {
    // A key of its own, whose window begins here.
    const made = await (await withRelease()).anotherKey();
    await made.report([{ ...DEVICE, deviceId: 'known', version: '0.1.0' }]);
    const before = await made.devices();
    const devices = [DEVICE, { ...DEVICE, deviceId: 'known' }];
    const remaining: number[] = [];
    for (const [change, status, error] of [
      [{ dryRun: true }, 200],
      [{ devices: [{ ...DEVICE, version: 'x' }] }, 400, 'devices.0.version: Invalid version'],
      [{ app: 'no-such' }, 404, 'Unknown app'],
      [{ channel: 'nightly' }, 404, 'Unknown channel'],
      [{ channel: 'nightly', dryRun: true }, 404, 'Unknown channel'],
    ] as const) {
      const answer = await made.decisions(devices, change);
      expect([answer.status, answer.body?.error]).toEqual([status, error]);
      remaining.push(Number(answer.headers.get('ratelimit-remaining')));
    }
    const [most = 0] = remaining;
    expect(remaining).toEqual([0, 1, 2, 3, 4].map((hits) => most - hits));
    expect(await versionsFor(made, devices, { dryRun: true })).toEqual(['2.0.0', '2.0.0']);
    expect((await made.with({ secret: 'x' }).decisions([])).status).toBe(401);
    expect(await made.devices()).toEqual(before);
    const { body: fleet } = await admin(node, 'GET', `fleet?app=${made.app}`);
    const cell = { channel: 'stable', version: '0.1.0', platform: 'linux', devices: 1 };
    expect(fleet?.cells).toEqual([cell]);
    expect(await isOffered(made)).toBe(false);
  });
});
