// Tests the explanation of decisions for programs over HTTP (docs/contract.md 4.20). Each reason is tested in
// test/domain/decision.

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { type Json, releaseOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  createTenant,
  devicesOf,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

serviceSuite('explaining a decision with a key', (node) => {
  function explain(tenant: Tenant, query: string): Promise<Answer> {
    return manage(node, tenant, 'GET', `explain?app=${tenant.app}${query}`);
  }

  /** Explains for a device that the query describes: on Linux, with version 1.0.0. */
  function describeDevice(tenant: Tenant, more = ''): Promise<Answer> {
    const described = '&channel=stable&platform=linux&arch=x86_64&version=1.0.0';
    return explain(tenant, described + more);
  }

  /** Lets a device ask, and waits until it is on record. */
  async function record(tenant: Tenant, device: string, query?: string): Promise<Answer> {
    const told = query === undefined ? {} : { query };
    const answer = await check(node, tenant, '1.0.0', { device, ...told });
    await eventually('the device is on record', async () => {
      return (await devicesOf(node, tenant)).some(({ deviceId }) => deviceId === device);
    });
    return answer;
  }

  const candidatesOf = ({ body }: Answer) => body?.candidates as Json[];
  const decisionOf = ({ body }: Answer) => body?.decision as Json;

  it('tells what a device on record would be answered, and why (§4.20)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.1.0');
    await publish(node, tenant, '1.2.0', { status: 'paused' });
    const asked = await record(tenant, 'a', 'l.ring=x');
    const answer = await explain(tenant, '&deviceId=a');
    expect(answer.status).toBe(200);
    const usual = { channel: 'stable', bucket: expect.any(Number), threshold: 10_000, unmet: [] };
    expect(answer.body).toStrictEqual({
      decision: { update: asked.body, reason: 'offered' },
      device: {
        ...{ deviceId: 'a', channel: 'stable', platform: 'linux', arch: 'x86_64' },
        ...{ version: '1.0.0', client: 'u', bundle: null, labels: { ring: 'x' } },
      },
      candidates: [
        { ...usual, version: '1.2.0', status: 'paused', verdict: 'not-published' },
        { ...usual, version: '1.1.0', status: 'published', verdict: 'offered' },
      ],
    });
  });

  it('the first obstacle in the order of the contract is the verdict, and all unmet conditions are listed', async () => {
    const tenant = await createTenant(node);
    const targets = {
      matchLabels: { ring: ['a', 'b'] },
      matchExpressions: [
        { key: '$version', operator: 'VersionGte', values: ['2.0.0'] },
        { key: 'tier', operator: 'Exists', values: [] },
      ],
    };
    const elsewhere = [{ ...ARTIFACT, platform: 'windows' }];
    await publish(node, tenant, '1.4.0', { status: 'paused', targets, rollout: 0 });
    await publish(node, tenant, '1.3.0', { artifacts: elsewhere, targets, rollout: 0 });
    await publish(node, tenant, '1.2.0', { targets, rollout: 0 });
    await publish(node, tenant, '1.1.0', { rollout: 0 });
    const answer = await describeDevice(tenant, '&deviceId=x&l.ring=c&l.tier=gold');
    expect(decisionOf(answer)).toEqual({ update: null, reason: 'not-targeted' });
    const unmet = [
      { key: 'ring', operator: 'In', values: ['a', 'b'] },
      { key: '$version', operator: 'VersionGte', values: ['2.0.0'] },
    ];
    expect(candidatesOf(answer)).toMatchObject([
      { version: '1.4.0', status: 'paused', verdict: 'not-published', threshold: 0, unmet },
      { version: '1.3.0', verdict: 'no-artifact', unmet },
      { version: '1.2.0', verdict: 'not-targeted', unmet },
      { version: '1.1.0', verdict: 'outside-cohort', unmet: [] },
    ]);
  });

  describe('the device', () => {
    it('is on record, and what the query tells counts before that', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.1.0', { targets: { matchLabels: { ring: ['a'] } } });
      await record(tenant, 'a', 'l.ring=b&l.kept=1');
      expect(decisionOf(await explain(tenant, '&deviceId=a')).reason).toBe('not-targeted');
      const told = await explain(tenant, '&deviceId=a&l.ring=a');
      expect(decisionOf(told).reason).toBe('offered');
      expect(told.body?.device).toMatchObject({ labels: { ring: 'a', kept: '1' } });
      const newer = await explain(tenant, '&deviceId=a&l.ring=a&version=v1.1');
      expect(decisionOf(newer).reason).toBe('up-to-date');
      expect(newer.body?.device).toMatchObject({ version: '1.1.0' });
      const elsewhere = await explain(tenant, '&deviceId=a&l.ring=a&platform=win32');
      expect(decisionOf(elsewhere).reason).toBe('no-artifact');
      const beta = await explain(tenant, '&deviceId=a&channel=beta');
      expect([decisionOf(beta).reason, candidatesOf(beta)]).toEqual(['up-to-date', []]);
    });

    it('may be described alone: the decision is that of `/u`, for each id', async () => {
      const tenant = await createTenant(node);
      expect((await publish(node, tenant, '1.1.0', { rollout: 50 })).status).toBe(201);
      // So many that all are on one side of the threshold in one of 5e14 runs.
      const devices = Array.from({ length: 50 }, (_, index) => `device-${index}`);
      const compare = async (device: string) => {
        const explained = await describeDevice(tenant, `&deviceId=${device}`);
        const asked = await check(node, tenant, '1.0.0', { device });
        expect(decisionOf(explained).update).toEqual(asked.body ?? null);
        const [candidate] = candidatesOf(explained);
        expect(Number(candidate?.bucket) < Number(candidate?.threshold)).toBe(asked.status === 200);
        return asked.status;
      };
      expect(new Set(await Promise.all(devices.map(compare)))).toEqual(new Set([200, 204]));
      const nobody = await describeDevice(tenant);
      expect(candidatesOf(nobody)).toMatchObject([{ verdict: 'outside-cohort', bucket: null }]);
    });

    it('takes what its client can install: `bundle`, and no version as on `/e`', async () => {
      const tenant = await createTenant(node);
      const url = 'https://dl.example.com/app.deb';
      await publish(node, tenant, '1.1.0', { artifacts: [{ ...ARTIFACT, url }] });
      const reasonOf = async (more: string) =>
        decisionOf(await describeDevice(tenant, more)).reason;
      expect(await reasonOf('&bundle=appimage')).toBe('no-artifact');
      expect(await reasonOf('&bundle=deb')).toBe('offered');
      const untold = await explain(tenant, '&channel=stable&platform=linux&arch=x86_64');
      expect(untold.body?.device).toMatchObject({ client: 'e', version: null });
      // electron-updater needs a SHA-512.
      expect(decisionOf(untold).reason).toBe('no-artifact');
    });

    it('that nobody knows is 404, one that is described by half is 400 with the name of the rest', async () => {
      const tenant = await createTenant(node);
      expectError(await explain(tenant, '&deviceId=nobody'), 404, 'Unknown device');
      for (const [query, error] of [
        ['', 'channel: Required'],
        ['&channel=stable', 'platform: Required without a deviceId'],
        ['&deviceId=x&platform=linux', 'channel: Required'],
        ['&channel=stable&platform=linux&version=nonsense', 'version: Invalid version'],
        ['&channel=stable&platform=', 'platform: Must not be empty'],
        ['&deviceId=', 'deviceId: Must not be empty'],
        [`&bundle=${'x'.repeat(33)}`, 'bundle: Must have at most 32 characters'],
        ['&l.=x', expect.stringMatching(/./)],
        [`&l.key=${'x'.repeat(10_000)}`, expect.stringMatching(/./)],
        ['&channel=stable&platform=%00', expect.stringMatching(/./)],
      ] as const) {
        expectError(await explain(tenant, query), 400, error);
      }
    });
  });

  it('shows which channel a release is of, when the channel follows another one', async () => {
    const tenant = await createTenant(node);
    await admin(node, 'PATCH', 'channels', { app: tenant.app, name: 'beta', follows: 'stable' });
    await publish(node, tenant, '1.1.0');
    const answer = await explain(tenant, '&channel=beta&platform=linux&arch=x86_64&version=1.0.0');
    expect(decisionOf(answer).reason).toBe('offered');
    expect(candidatesOf(answer)).toMatchObject([{ version: '1.1.0', channel: 'stable' }]);
  });

  it('writes nothing: no offer, no check-in', async () => {
    const tenant = await createTenant(node);
    const { id } = releaseOf(await publish(node, tenant, '1.1.0'));
    expect(decisionOf(await describeDevice(tenant, '&deviceId=x')).reason).toBe('offered');
    const release = await manage(node, tenant, 'GET', `releases/${id}`);
    expect(release.body).toMatchObject({ offered: false, offeredAt: null });
    expect(await devicesOf(node, tenant)).toEqual([]);
  });

  it("another organization's app is unknown, and a key is needed", async () => {
    const [tenant, stranger] = [await createTenant(node), await createTenant(node)];
    const path = `explain?app=${tenant.app}&channel=stable&platform=linux`;
    expectError(await manage(node, stranger, 'GET', path), 404, 'Unknown app');
    expectError(await describeDevice(tenant, '&channel=nowhere'), 404, 'Unknown channel');
    expect((await send(node, 'GET', `/api/v1/explain?app=${tenant.app}`)).status).toBe(401);
  });
});
