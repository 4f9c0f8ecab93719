// Tests the planning of update waves (docs/contract.md 4.6, 13, 14 and 17): a wave gets for every device what
// the update check would have answered it, and writes what it must.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { release, tenantWith } from '../support/released.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  decisions,
  devicesOf,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type Decision = { readonly deviceId: string; readonly update: Fields | null };
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' } as const;
const UPDATE = { version: '2.0.0' };
const RATE_LIMIT = 300;

serviceSuite('fleet decisions', (node) => {
  /** A tenant with 2.0.0 on stable. */
  function withRelease(more: Fields = {}): Promise<Tenant> {
    return tenantWith(node, ['2.0.0', more]);
  }

  /** Plans a wave and expects an answer. */
  async function plan(
    tenant: Tenant,
    devices: readonly unknown[],
    more: Fields = {},
  ): Promise<readonly Decision[]> {
    const answer = await decisions(node, tenant, devices, more);
    expect(answer.status, answer.text).toBe(200);
    const planned = answer.body?.decisions as Decision[];
    expect(answer.body?.updatesOffered).toBe(planned.filter(({ update }) => update).length);
    return planned;
  }

  async function versionsFor(tenant: Tenant, devices: readonly unknown[], more: Fields = {}) {
    return (await plan(tenant, devices, more)).map(({ update }) => update?.version ?? null);
  }

  /** Whether the release counts as offered: its rollout cannot be lowered then. */
  async function isOffered(tenant: Tenant, version = '2.0.0'): Promise<boolean> {
    const { status } = await control(node, tenant, version, { rollout: 0 });
    expect([200, 422]).toContain(status);
    return status === 422;
  }

  describe('the answer', () => {
    it("is 200 with exactly the contract's fields, nothing more (§4.6, §2.7)", async () => {
      const tenant = await withRelease({ notes: 'Größer & "better"' });
      const devices = [DEVICE, { ...DEVICE, deviceId: 'e "ü"', version: '2.0.0' }];
      const answer = await decisions(node, tenant, devices);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.body).toStrictEqual({
        app: tenant.app,
        channel: 'stable',
        decisions: [
          {
            deviceId: 'd',
            update: {
              version: '2.0.0',
              notes: 'Größer & "better"',
              pub_date: expect.stringMatching(TIMESTAMP),
              url: ARTIFACT.url,
              signature: ARTIFACT.signature,
              updateMode: 'optional',
            },
          },
          { deviceId: 'e "ü"', update: null },
        ],
        updatesOffered: 1,
      });
      const keys = [...Object.keys(answer.body ?? {})];
      expect(keys).toEqual(['app', 'channel', 'decisions', 'updatesOffered']);
    });

    it('is for the app named by its ref or id, and for the channel asked for (§4.6)', async () => {
      const tenant = await withRelease();
      await release(node, tenant, '3.0.0', { channel: 'beta' });
      const byId = await decisions(node, tenant, [DEVICE], { app: tenant.appId });
      expect(byId.body).toMatchObject({ app: tenant.app, decisions: [{ update: UPDATE }] });
      const beta = await decisions(node, tenant, [DEVICE], { channel: 'beta' });
      const decided = [{ update: { version: '3.0.0' } }];
      expect(beta.body).toMatchObject({ channel: 'beta', decisions: decided });
    });

    it('is null when up to date, outside the cohort, not targeted or without an artifact (§2.7)', async () => {
      const tenant = await withRelease();
      await release(node, tenant, '3.0.0', { rollout: 0 });
      await release(node, tenant, '3.1.0', { targets: { matchLabels: { ring: ['inner'] } } });
      const none = [
        { ...DEVICE, version: '2.0.0' },
        { ...DEVICE, version: '2.0.1' },
        { ...DEVICE, platform: 'darwin' },
        { ...DEVICE, arch: 'aarch64' },
        { ...DEVICE, arch: undefined },
      ];
      expect(await versionsFor(tenant, none)).toEqual(none.map(() => null));
      const empty = await createTenant(node);
      expect(await versionsFor(empty, [DEVICE])).toEqual([null]);
    });

    it('has one decision per device in the order of the devices, 500 of them (§4.6, §8)', async () => {
      const tenant = await withRelease();
      const devices = Array.from({ length: 500 }, (_, index) => ({
        ...DEVICE,
        deviceId: randomUUID(),
        version: index % 3 === 0 ? '2.0.0' : '1.0.0',
      }));
      const planned = await plan(tenant, devices);
      expect(planned.map(({ deviceId }) => deviceId)).toEqual(devices.map((each) => each.deviceId));
      expect(planned.map(({ update }) => update === null)).toEqual(
        devices.map(({ version }) => version === '2.0.0'),
      );
      expect(await devicesOf(node, tenant)).toHaveLength(500);
    });

    it('for a device named twice has each decision in order; the last is stored (§17.2)', async () => {
      const tenant = await withRelease();
      await release(node, tenant, '3.0.0', { artifacts: [{ ...ARTIFACT, platform: 'windows' }] });
      const devices = [
        DEVICE,
        { ...DEVICE, platform: 'windows' },
        { ...DEVICE, version: '2.0.0' },
        { ...DEVICE, deviceId: 'other' },
        { ...DEVICE, version: '1.5.0', platform: 'darwin', arch: 'aarch64' },
      ];
      expect(await versionsFor(tenant, devices)).toEqual(['2.0.0', '3.0.0', null, '2.0.0', null]);
      const [stored, other, ...rest] = await devicesOf(node, tenant);
      expect(rest).toEqual([]);
      expect(other).toMatchObject({ deviceId: 'other', version: '1.0.0' });
      expect(stored).toMatchObject({ version: '1.5.0', platform: 'darwin', arch: 'aarch64' });
    });
  });

  describe('the decision', () => {
    it('is by the stored labels, right after they were reported (§17.5)', async () => {
      const targets = { matchLabels: { ring: ['inner'] } };
      const tenant = await withRelease({ targets });
      const devices = ['in', 'out', 'new'].map((deviceId) => ({ ...DEVICE, deviceId }));
      await report(node, tenant, [
        { ...DEVICE, deviceId: 'in', labels: { ring: 'inner' } },
        { ...DEVICE, deviceId: 'out', labels: { ring: 'outer' } },
      ]);
      expect(await versionsFor(tenant, devices)).toEqual(['2.0.0', null, null]);
      await report(node, tenant, [{ ...DEVICE, deviceId: 'new', labels: { ring: 'inner' } }]);
      expect(await versionsFor(tenant, devices)).toEqual(['2.0.0', null, '2.0.0']);
      const [stored] = await devicesOf(node, tenant);
      expect(stored).toMatchObject({ deviceId: 'in', labels: { ring: 'inner' } });
    });
  });

  it('a device without arch gets the platform-wide artifact (§13.10)', async () => {
    const wide = { platform: 'linux', url: 'https://downloads.example.com/wide' };
    const universal = {
      ...wide,
      arch: 'universal',
      url: 'https://downloads.example.com/universal',
    };
    const tenant = await withRelease({ artifacts: [ARTIFACT, universal, wide] });
    const [decision] = await plan(tenant, [{ ...DEVICE, arch: undefined }]);
    expect(decision?.update?.url).toBe(wide.url);
  });

  describe('what is written', () => {
    it('a dry run writes nothing: no device, no check-in, no offer (§4.6)', async () => {
      const tenant = await withRelease();
      await release(node, tenant, '2.1.0');
      await report(node, tenant, [{ ...DEVICE, deviceId: 'known', version: '0.1.0' }]);
      const before = await devicesOf(node, tenant);
      const devices = [DEVICE, { ...DEVICE, deviceId: 'known' }];
      expect(await versionsFor(tenant, devices, { dryRun: true })).toEqual(['2.1.0', '2.1.0']);
      const { body } = await admin(node, 'GET', `fleet?app=${tenant.app}`);
      expect(body?.cells).toEqual([
        { channel: 'stable', version: '0.1.0', platform: 'linux', devices: 1 },
      ]);
      // What the dry run had written would be on record before a later check.
      await check(node, tenant, '2.1.0', { device: 'zz-marker' });
      await eventually('the later check is on record', async () => {
        return (await devicesOf(node, tenant)).length > before.length;
      });
      expect((await devicesOf(node, tenant)).slice(0, -1)).toEqual(before);
      expect(await isOffered(tenant, '2.1.0')).toBe(false);
    });

    it('dryRun false is the default: the release counts as offered then (§4.6, §14.1)', async () => {
      for (const more of [{}, { dryRun: false }]) {
        const tenant = await withRelease();
        expect(await versionsFor(tenant, [DEVICE], more)).toEqual(['2.0.0']);
        expect(await isOffered(tenant)).toBe(true);
      }
    });

    it('only what was in a decision counts as offered (§14.1)', async () => {
      const tenant = await withRelease();
      await release(node, tenant, '2.1.0');
      await plan(tenant, [{ ...DEVICE, version: '2.1.0' }]);
      expect(await isOffered(tenant)).toBe(false);
      expect(await isOffered(tenant, '2.1.0')).toBe(false);
      await control(node, tenant, '2.1.0', { rollout: 100 });
      await plan(tenant, [DEVICE]);
      expect(await isOffered(tenant)).toBe(false);
      expect(await isOffered(tenant, '2.1.0')).toBe(true);
    });

    it('every device is visible as a check-in with source push and its last offer (§4.6, §17.1)', async () => {
      const tenant = await withRelease();
      await plan(tenant, [DEVICE, { deviceId: 'e', version: 'v3', platform: 'macOS' }]);
      const [offered, none] = await devicesOf(node, tenant);
      expect(offered).toStrictEqual({
        ...DEVICE,
        channel: 'stable',
        labels: {},
        source: 'push',
        client: 'push',
        bundle: null,
        firstSeen: expect.stringMatching(TIMESTAMP),
        lastSeen: expect.stringMatching(TIMESTAMP),
        lastOffered: { version: '2.0.0', at: expect.stringMatching(TIMESTAMP) },
      });
      expect(none).toMatchObject({
        version: '3.0.0',
        platform: 'darwin',
        arch: null,
        lastOffered: null,
      });
    });

    it('a device that asks itself and is planned for is one device (§17.1)', async () => {
      const tenant = await withRelease();
      await report(node, tenant, [{ ...DEVICE, channel: 'beta' }]);
      await plan(tenant, [{ ...DEVICE, version: '1.1.0' }]);
      expect(await devicesOf(node, tenant)).toEqual([
        expect.objectContaining({ deviceId: 'd', version: '1.1.0', channel: 'stable' }),
      ]);
    });
  });

  describe('what is refused', () => {
    it('what cannot be is 400 that names it, and nothing is written (§4.6, §7.1)', async () => {
      const tenant = await withRelease();
      for (const [change, message] of [
        [{ devices: [] }, /^devices: /],
        [{ devices: undefined }, /^devices: Required$/],
        [{ devices: Array.from({ length: 501 }, () => DEVICE) }, /^devices: /],
        [second({ version: 'x' }), /^devices\.1\.version: Invalid version$/],
        [second({ platform: undefined }), /^devices\.1\.platform: Required$/],
        [second({ deviceId: undefined }), /^devices\.1\.deviceId: Required$/],
        ...['', '🚀'.repeat(129), 'a\u0000'].map(
          (deviceId) => [second({ deviceId }), /^devices\.1\.deviceId: /] as const,
        ),
        [second({ arch: '' }), /^devices\.1\.arch: /],
        [second({ labels: {} }), /^devices\.1\.labels: Unrecognized key$/],
        [second({ channel: 'a' }), /^devices\.1\.channel: Unrecognized key$/],
        [{ dryRun: 'true' }, /^dryRun: Expected a boolean$/],
        [{ dryRun: null }, /^dryRun: Expected a boolean$/],
        [{ dryrun: true }, /^dryrun: Unrecognized key$/],
        [{ channel: 7 }, /^channel: Expected a string$/],
        [{ app: undefined }, /^app: Required$/],
      ] as const) {
        const { status, body } = await decisions(node, tenant, [DEVICE], change);
        expect([status, body]).toEqual([400, { error: expect.stringMatching(message) }]);
      }
      expect(await devicesOf(node, tenant)).toEqual([]);
      expect(await isOffered(tenant)).toBe(false);
    });

    it('an unknown app or channel is 404, as if another organization had no apps (§4.6, §5.2)', async () => {
      const [tenant, stranger] = [await withRelease(), await withRelease()];
      for (const app of [`no-${randomId()}`, stranger.app, stranger.appId]) {
        const answer = await decisions(node, tenant, [DEVICE], { app });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown app' }]);
      }
      for (const dryRun of [false, true]) {
        const answer = await decisions(node, tenant, [DEVICE], { channel: 'nightly', dryRun });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown channel' }]);
      }
      expect(await devicesOf(node, stranger)).toEqual([]);
      expect(await devicesOf(node, tenant)).toEqual([]);
    });

    it('without a valid key it is 401 (§5.1)', async () => {
      const tenant = await withRelease();
      const body = { app: tenant.app, devices: [DEVICE] };
      expect((await send(node, 'POST', '/api/v1/fleet/decisions', { body })).status).toBe(401);
      expect((await decisions(node, { ...tenant, secret: 'x' }, [])).status).toBe(401);
    });

    it('one call is one hit of the rate limit, however many devices; a dry run too (§4.6, §8)', async () => {
      const tenant = await createTenant(node);
      const devices = Array.from({ length: 10 }, (_, at) => ({ ...DEVICE, deviceId: `${at}` }));
      const call = (): Promise<Answer> => decisions(node, tenant, devices, { dryRun: true });
      for (let done = 0; done < RATE_LIMIT; done += 20) {
        const answers = await Promise.all(Array.from({ length: 20 }, call));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      }
      const limited = await call();
      expect([limited.status, limited.body]).toEqual([429, { error: 'Rate limit exceeded' }]);
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    });
  });
});

/** Body of two devices, the second with a change. */
function second(change: Fields): Fields {
  return { devices: [DEVICE, { ...DEVICE, ...change }] };
}
