// Tests rollout plans and the health of releases as clients of the management API use them
// (docs/contract.md 27).

import { describe, expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  check,
  createTenant,
  manage,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const PLAN = 'releases/plan';

serviceSuite('rollout plans', (node) => {
  function call(tenant: Tenant, method: string, path: string, body?: object) {
    return manage(node, tenant, method, path, body);
  }

  function nameOf(tenant: Tenant, version = '1.0.0') {
    return { app: tenant.app, channel: 'stable', version };
  }

  function put(tenant: Tenant, parts: object = {}, version = '1.0.0') {
    const steps = [
      { rollout: 10, holdMinutes: 60 },
      { rollout: 100, holdMinutes: 0 },
    ];
    return call(tenant, 'PUT', PLAN, { ...nameOf(tenant, version), steps, ...parts });
  }

  function steer(tenant: Tenant, action: string, parts: object = {}) {
    return call(tenant, 'PATCH', PLAN, { ...nameOf(tenant), action, ...parts });
  }

  async function read(tenant: Tenant) {
    const query = new URLSearchParams(nameOf(tenant));
    return call(tenant, 'GET', `${PLAN}?${query}`);
  }

  async function planOf(tenant: Tenant) {
    return (await read(tenant)).body as { plan: { status: string; step: number | null } };
  }

  async function rolloutOf(tenant: Tenant): Promise<number> {
    const [release] = await releasesOf(node, tenant, 'channel=stable&version=1.0.0');
    return Number(release?.rolloutPct ?? -1);
  }

  /** Waits until the share of the release is this one, and asks seldom: a key may not ask without end. */
  function reached(tenant: Tenant, rollout: number) {
    const isReached = async () => {
      await sleep(100);
      return (await rolloutOf(tenant)) === rollout;
    };
    return eventually(`the step of ${rollout} % began`, isReached);
  }

  // Side by side: what waits is a guard, which is looked at every 15 s.
  describe.concurrent('a plan', () => {
    it('begins its first step, and goes on when its wait is ended (§27.2, §27.3)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { rollout: 0 });
      const made = await put(tenant);
      expect(made.status).toBe(200);
      expect(made.body).toMatchObject({
        plan: {
          ...{ ...nameOf(tenant), status: 'running', step: null, guards: null, onTrip: 'pause' },
          steps: [{ rollout: 10, holdMinutes: 60, startedAt: null, endedAt: null }, {}],
        },
      });
      await reached(tenant, 10);
      expect((await steer(tenant, 'advance')).status).toBe(200);
      await reached(tenant, 100);
      const isCompleted = async () => {
        await sleep(100);
        return (await planOf(tenant)).plan.status === 'completed';
      };
      await eventually('the plan is completed', isCompleted);
      expectError(await steer(tenant, 'hold'), 409, 'The plan is completed');
    });

    it('is held by whoever pauses the release, and not resumed by publishing it (§27.3)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { rollout: 0 });
      await put(tenant);
      const patch = (status: string) =>
        call(tenant, 'PATCH', 'releases', { ...nameOf(tenant), status });
      await patch('paused');
      expect((await planOf(tenant)).plan).toMatchObject({ status: 'held', nextAt: null });
      expect(await steer(tenant, 'resume')).toMatchObject({ status: 409 });
      await patch('published');
      expect((await planOf(tenant)).plan.status).toBe('held');
      expect((await steer(tenant, 'resume', { reason: 'looks good' })).status).toBe(200);
    });

    it('comes with a release that is published or promoted, which begins at 0 % (§27.8)', async () => {
      const tenant = await createTenant(node);
      const plan = { steps: [{ rollout: 5, holdMinutes: 600 }] };
      const born = await call(tenant, 'POST', 'releases', {
        ...{ ...nameOf(tenant), plan },
        artifacts: [{ platform: 'linux', url: 'https://dl.example.com/a' }],
      });
      expect(born).toMatchObject({ status: 201, body: { release: { rolloutPct: 0 } } });
      await reached(tenant, 5);
      const promoted = await call(tenant, 'POST', 'releases/promote', {
        ...{ app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta', plan },
      });
      expect(promoted).toMatchObject({ status: 201, body: { release: { rolloutPct: 0 } } });
    });

    it('is refused for a release that is gone, rolled back or has one (§27.1)', async () => {
      const tenant = await createTenant(node);
      // Below the first step: a plan whose steps are all reached is completed at once.
      await publish(node, tenant, '1.0.0', { rollout: 0 });
      expectError(await put(tenant, {}, '2.0.0'), 404, 'Unknown release');
      expectError(await read(tenant), 404, 'No plan');
      expect(await steer(tenant, 'hold')).toMatchObject({ status: 404 });
      expect((await put(tenant)).status).toBe(200);
      expect((await put(tenant)).status).toBe(409);
      await call(tenant, 'PATCH', 'releases', { ...nameOf(tenant), status: 'rolled_back' });
      expect((await planOf(tenant)).plan.status).toBe('cancelled');
      expect((await put(tenant)).status).toBe(409);
    });

    it('that is wrong is 400 and names the field (§27.1)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const step = { rollout: 5, holdMinutes: 1 };
      for (const [parts, error] of [
        [{ steps: [] }, 'steps: Must have at least 1 item'],
        [{ steps: [{ ...step, rollout: 0 }] }, 'steps.0.rollout: Must be at least 1'],
        [{ steps: [step, step] }, 'steps.1.rollout: Must be above the step before it'],
        [
          { steps: [{ ...step, holdMinutes: 43_201 }] },
          'steps.0.holdMinutes: Must be at most 43200',
        ],
        [{ guards: { failedPercent: 101 } }, 'guards.failedPercent: Must be at most 100'],
        [{ guards: { stuckAfterMinutes: 14 } }, 'guards.stuckAfterMinutes: Must be at least 15'],
        [{ guards: { silentAfterMinutes: 1 } }, 'guards.silentAfterMinutes: Must be at least 15'],
        [{ guards: { minimumDevices: 0 } }, 'guards.minimumDevices: Must be at least 1'],
        [{ guards: { failed: 1 } }, 'guards.failed: Unrecognized key'],
        [{ startAt: 'soon' }, 'startAt: Must be an RFC 3339 time'],
        [{ startAt: '2999-01-01T00:00:00Z' }, 'startAt: Must be at most 90 days ahead'],
        [{ onTrip: 'panic' }, 'onTrip: Must be one of hold, pause'],
      ] as const) {
        expectError(await put(tenant, parts), 400, error);
      }
    });
  });

  it.concurrent('a plan whose release devices leave again is held, and the release paused (§27.5, §27.6)', async () => {
    const tenant = await createTenant(node);
    const ids = Array.from({ length: 20 }, (_, index) => `device ${index}`);
    const run = async (version: string) => {
      const devices = ids.map((deviceId) => ({ deviceId, version, platform: 'linux' }));
      expect((await report(node, tenant, devices)).status).toBe(200);
    };
    await run('0.9.0');
    await publish(node, tenant, '1.0.0', { rollout: 100 });
    const offers = ids.map((device) => check(node, tenant, '0.9.0', { device }));
    for (const { status } of await Promise.all(offers)) expect(status).toBe(200);
    // A device that reports the release before its offer is on record was never offered it.
    const offered = async () => {
      await sleep(100);
      const query = new URLSearchParams({ ...nameOf(tenant), knownForMinutes: '0' });
      const { body } = await call(tenant, 'GET', `releases/health?${query}`);
      return (body as { health: { offered: number } }).health.offered;
    };
    await eventually('every offer is on record', async () => (await offered()) === ids.length);
    await run('1.0.0');
    await run('0.9.0');
    const guards = {
      ...{ minimumDevices: 10, knownForMinutes: 0, confirmMinutes: 0 },
      revertedPercent: 5,
    };
    expect((await put(tenant, { guards })).status).toBe(200);
    // A plan is looked at seldom: a key may not ask without end.
    const isHeld = async () => {
      await sleep(2000);
      return (await planOf(tenant)).plan.status === 'held';
    };
    await eventually('the guard tripped', isHeld, 150_000);
    const { body } = await read(tenant);
    expect(body).toMatchObject({
      plan: { reason: expect.stringMatching(/^reverted: 20 of 20 devices, 100 %/) },
      health: {
        ...{ offered: 20, installed: 20, reverted: 20, verdict: 'unhealthy' },
        rates: { reverted: { limit: 5, tripped: true } },
      },
    });
    expect(await releasesOf(node, tenant)).toMatchObject([{ status: 'paused' }]);
  });

  it.concurrent('the health of a release is answered with a plan or without (§27.7)', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    const health = async (parts: Record<string, string> = {}) => {
      const query = new URLSearchParams({ ...nameOf(tenant), ...parts });
      return call(tenant, 'GET', `releases/health?${query}`);
    };
    expect(await health({ knownForMinutes: '60' })).toMatchObject({
      status: 200,
      body: { health: { offered: 0, verdict: 'too early', rates: { failed: { limit: null } } } },
    });
    expect(await health({ knownForMinutes: 'x' })).toMatchObject({ status: 400 });
    expect(await health({ version: '3.0.0' })).toMatchObject({ status: 404 });
    await put(tenant, { guards: { failedPercent: 2.5 } });
    expect(await health()).toMatchObject({
      body: { health: { rates: { failed: { limit: 2.5, tripped: false } } } },
    });
  });

  describe.concurrent('a failure of a device (§27.9)', () => {
    function fail(tenant: Tenant, body: unknown, device?: string, version = '0.9.0') {
      const headers = device === undefined ? {} : { 'x-service-device': device };
      const path = `/u/${tenant.app}/stable/linux/x86_64/${version}/failure`;
      return send(node, 'POST', path, { body, headers });
    }

    it('is 204, and counts if the device was known and offered the release', async () => {
      const tenant = await createTenant(node);
      await report(node, tenant, [{ deviceId: 'a', version: '0.9.0', platform: 'linux' }]);
      await publish(node, tenant, '1.0.0');
      expect((await check(node, tenant, '0.9.0', { device: 'a' })).status).toBe(200);
      const query = new URLSearchParams({ ...nameOf(tenant), knownForMinutes: '0' });
      const failed = async () => {
        await fail(tenant, { version: '1.0.0', reason: 'disk full' }, 'stranger');
        expect((await fail(tenant, { version: 'v1.0', reason: '' }, 'a')).status).toBe(204);
        const { body } = await call(tenant, 'GET', `releases/health?${query}`);
        return (body as { health: { failed: number } }).health.failed;
      };
      expect((await fail(tenant, { version: '7.0.0' }, 'a')).status).toBe(204);
      // The offer is recorded a moment after the check.
      await eventually('the failure counts', async () => (await failed()) === 1);
      expect(await failed()).toBe(1);
    });

    it('is refused without a device, with a bad body, or at an unknown place', async () => {
      const tenant = await createTenant(node);
      const nowhere = { ...tenant, app: 'nobody' };
      const unknown = { version: '1.0.0', why: 1 };
      expectError(await fail(tenant, { version: '1.0.0' }), 400, 'device: Required');
      expectError(await fail(tenant, { version: 'one' }, 'a'), 400, 'version: Invalid version');
      expectError(await fail(tenant, unknown, 'a'), 400, 'why: Unrecognized key');
      const long = { version: '1.0.0', reason: 'x'.repeat(5000) };
      expect((await fail(tenant, long, 'a')).status).toBe(413);
      expect((await fail(nowhere, { version: '1.0.0' }, 'a')).status).toBe(404);
    });

    it('comes in fleet reports as well', async () => {
      const tenant = await createTenant(node);
      const device = { deviceId: 'a', version: '0.9.0', platform: 'linux' };
      const failed = { version: '1.0.0', reason: 'disk full' };
      expect((await report(node, tenant, [{ ...device, failed }])).status).toBe(200);
      const bad = { ...device, failed: { version: 'one' } };
      const error = 'devices.0.failed.version: Invalid version';
      expectError(await report(node, tenant, [bad]), 400, error);
    });
  });
});
