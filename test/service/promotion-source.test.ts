// Tests that no promotion offers to another channel's devices what was stopped on its own, unless the call
// says how far it goes (docs/contract.md 11.17, 23.3).

import { beforeAll, expect, it } from 'vitest';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { ARTIFACT, admin, type Json } from '../support/tenant.ts';

const IDS = Array.from({ length: 20 }, (_, index) => `device ${index}`);
const UNHEALTHY = 'reverted 100 % of devices, limit 5 %';

serviceSuite('the source of a promotion', (node) => {
  const tenant = suiteTenant(node);

  /** On beta 2.0.0 is paused, and 1.0.0 is unhealthy: twenty devices got it and went back. */
  beforeAll(async () => {
    const { app } = tenant;
    for (const name of ['a', 'b', 'c']) await admin(node, 'POST', 'channels', { app, name });
    const run = async (version: string) => {
      const place = { channel: 'beta', platform: ARTIFACT.platform, arch: ARTIFACT.arch };
      const devices = IDS.map((deviceId) => ({ deviceId, version, ...place }));
      expect((await tenant.report(devices)).status).toBe(200);
    };
    await run('0.9.0');
    await tenant.publish('1.0.0', { channel: 'beta', rollout: 50 });
    for (const device of IDS) await tenant.check('0.9.0', { device, channel: 'beta' });
    await run('1.0.0');
    await run('0.9.0');
    // A plan for later has a limit for that.
    const plan = await tenant.manage('PUT', 'releases/plan', {
      ...{ app, channel: 'beta', version: '1.0.0', steps: [{ rollout: 100, holdMinutes: 60 }] },
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
      guards: { minimumDevices: 10, knownForMinutes: 0, revertedPercent: 5 },
    });
    expect(plan.status, plan.text).toBe(200);
    await tenant.publish('2.0.0', { channel: 'beta', status: 'paused' });
  });

  const promote = (version: string, more: Json, query = '') => {
    const names = { app: tenant.app, version, from: 'beta', to: 'stable' };
    return tenant.manage('POST', `releases/promote${query}`, { ...names, ...more });
  };

  it.each([
    ['2.0.0', 'It is paused on beta'],
    ['1.0.0', `It is unhealthy on beta: ${UNHEALTHY}`],
  ])(
    '%s is promoted by a rollout, a plan or paused, of which a dry run warns (§11.17)',
    async (version, concern) => {
      const error = `${concern}. Say rollout, plan or status "paused" to promote it`;
      for (const query of ['', '?dryRun=true']) {
        expect(await promote(version, {}, query)).toMatchObject({ status: 409, body: { error } });
      }
      const list = `releases?app=${tenant.app}&channel=stable`;
      expect((await tenant.manage('GET', list)).body?.releases).toEqual([]);
      const plan = { steps: [{ rollout: 5, holdMinutes: 600 }] };
      for (const [choice, release] of [
        [{ to: 'a', rollout: 5 }, { rolloutPct: 5 }],
        [{ to: 'b', status: 'paused' }, { status: 'paused' }],
        [{ to: 'c', plan }, { rolloutPct: 0 }],
      ] as const) {
        const tried = await promote(version, choice, '?dryRun=true');
        const warning = { path: 'from', severity: 'warning', message: concern };
        expect(tried.body?.findings).toContainEqual(warning);
        expect(await promote(version, choice)).toMatchObject({ status: 201, body: { release } });
      }
    },
  );

  it('the console has the same dry run (§23.3)', async () => {
    const body = { app: tenant.app, version: '2.0.0', from: 'beta', to: 'stable', rollout: 5 };
    expect(await admin(node, 'POST', 'releases/rehearse-promotion', body)).toMatchObject({
      status: 200,
      body: { findings: [{ path: 'from', message: 'It is paused on beta' }] },
    });
  });

  it('what widens an unhealthy release says so, what stops it does not (§23.3)', async () => {
    const name = { app: tenant.app, channel: 'beta', version: '1.0.0' };
    const message = `It is unhealthy: ${UNHEALTHY}`;
    const concern = { path: 'status', severity: 'warning', message };
    const findings = async (change: Json) => {
      const path = 'releases?dryRun=true';
      return (await tenant.manage('PATCH', path, { ...name, ...change })).body?.findings;
    };
    expect(await findings({ rollout: 60 })).toContainEqual(concern);
    expect(await findings({ status: 'paused' })).not.toContainEqual(concern);
    const paused = { ...name, status: 'paused' };
    expect((await tenant.manage('PATCH', 'releases', paused)).status).toBe(200);
    expect(await findings({ status: 'published' })).toContainEqual(concern);
  });
});
