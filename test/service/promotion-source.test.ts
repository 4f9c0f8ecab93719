// Tests that no promotion offers to another channel's devices what was stopped on its own, and that a dry run
// says beforehand what a promotion does (docs/contract.md 11.17, 23).

import { beforeEach, describe, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  createTenant,
  manage,
  publish,
  report,
  type Tenant,
} from '../support/tenant.ts';

serviceSuite('the source of a promotion', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  function promote(more: object = {}, query = ''): Promise<Answer> {
    const body = { app: tenant.app, version: '1.0.0', from: 'beta', to: 'stable', ...more };
    return manage(node, tenant, 'POST', `releases/promote${query}`, body);
  }

  function publishOnBeta(more: object = {}): Promise<Answer> {
    return publish(node, tenant, '1.0.0', { channel: 'beta', ...more });
  }

  async function releasesOnStable(): Promise<unknown> {
    const { body } = await manage(node, tenant, 'GET', `releases?app=${tenant.app}&channel=stable`);
    return body?.releases;
  }

  /** Twenty devices of beta get 1.0.0 and go back; a plan for later has a limit for that. */
  async function publishUnhealthy(): Promise<void> {
    const ids = Array.from({ length: 20 }, (_, index) => `device ${index}`);
    const run = async (version: string) => {
      const devices = ids.map((deviceId) => ({ deviceId, version, channel: 'beta', ...LINUX }));
      const answer = await report(node, tenant, devices);
      expect(answer.status).toBe(200);
    };
    await run('0.9.0');
    await publishOnBeta({ rollout: 50 });
    for (const device of ids) {
      await check(node, tenant, '0.9.0', { device, channel: 'beta' });
    }
    await run('1.0.0');
    await run('0.9.0');
    const plan = await manage(node, tenant, 'PUT', 'releases/plan', {
      ...{ app: tenant.app, channel: 'beta', version: '1.0.0' },
      steps: [{ rollout: 100, holdMinutes: 60 }],
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
      guards: { minimumDevices: 10, knownForMinutes: 0, revertedPercent: 5 },
    });
    expect(plan.status).toBe(200);
  }

  describe('a dry run', () => {
    it('says what the promotion would do, and writes nothing (§23.1)', async () => {
      await publishOnBeta();
      for (const device of ['a', 'b', 'c']) await check(node, tenant, '0.9.0', { device });
      await report(node, tenant, [{ deviceId: 'd', version: '0.9.0', ...LINUX }]);
      const { status, body } = await promote({}, '?dryRun=true');
      expect(status).toBe(200);
      expect(body).toMatchObject({
        release: { channel: 'stable', version: '1.0.0', rolloutPct: 100, status: 'published' },
        findings: [],
        effect: { isEstimate: false, moves: [{ from: null, to: '1.0.0' }] },
      });
      expect(body?.release).not.toHaveProperty('id');
      expect(await releasesOnStable()).toEqual([]);
      expect((await promote()).status).toBe(201);
    });

    it.each([
      ['?dryRun=yes', {}, 400, 'dryRun: Must be one of true, false'],
      ['?dryRun=true', { to: 'beta' }, 400, 'to: Must be another channel than from'],
      ['?dryRun=true', { version: '7.0.0' }, 404, 'Unknown release'],
      ['?dryRun=true', { to: 'nightly' }, 404, 'Unknown channel'],
    ])('with %s and %j is refused as the call is', async (query, more, status, error) => {
      await publishOnBeta();
      expect(await promote(more, query)).toMatchObject({ status, body: { error } });
    });

    it('is at the console as well', async () => {
      await publishOnBeta({ status: 'paused' });
      const body = { app: tenant.app, version: '1.0.0', from: 'beta', to: 'stable', rollout: 5 };
      expect(await admin(node, 'POST', 'releases/rehearse-promotion', body)).toMatchObject({
        status: 200,
        body: { findings: [{ path: 'from', message: 'It is paused on beta' }] },
      });
    });
  });

  describe.each([
    ['that is paused', () => publishOnBeta({ status: 'paused' }), 'It is paused on beta'],
    [
      'that is unhealthy',
      publishUnhealthy,
      'It is unhealthy on beta: reverted 100 % of devices, limit 5 %',
    ],
  ])('a source %s (§11.17)', (_, publishSource, concern) => {
    it('is not promoted by the default rollout, nor in a dry run', async () => {
      await publishSource();
      const error = `${concern}. Say rollout, plan or status "paused" to promote it`;
      expect(await promote()).toMatchObject({ status: 409, body: { error } });
      expect(await promote({}, '?dryRun=true')).toMatchObject({ status: 409, body: { error } });
      expect(await releasesOnStable()).toEqual([]);
    });

    it.each([
      [{ rollout: 5 }, { rolloutPct: 5, status: 'published' }],
      [{ status: 'paused' }, { rolloutPct: 100, status: 'paused' }],
      [{ plan: { steps: [{ rollout: 5, holdMinutes: 600 }] } }, { rolloutPct: 0 }],
    ])('is promoted with %j, which the dry run warns of', async (choice, release) => {
      await publishSource();
      const answer = await promote(choice, '?dryRun=true');
      expect(answer.status).toBe(200);
      expect(answer.body?.findings).toContainEqual({
        ...{ path: 'from', severity: 'warning', message: concern },
      });
      expect(await promote(choice)).toMatchObject({ status: 201, body: { release } });
    });
  });

  it('what widens an unhealthy release says so first, what stops it does not (§23.3)', async () => {
    await publishUnhealthy();
    const findings = async (change: object) => {
      const name = { app: tenant.app, channel: 'beta', version: '1.0.0' };
      const { body } = await manage(node, tenant, 'PATCH', 'releases?dryRun=true', {
        ...{ ...name, ...change },
      });
      return body?.findings;
    };
    const message = 'It is unhealthy: reverted 100 % of devices, limit 5 %';
    const concern = { path: 'status', severity: 'warning', message };
    expect(await findings({ rollout: 60 })).toContainEqual(concern);
    expect(await findings({ status: 'paused' })).not.toContainEqual(concern);
    const paused = { app: tenant.app, channel: 'beta', version: '1.0.0', status: 'paused' };
    expect((await manage(node, tenant, 'PATCH', 'releases', paused)).status).toBe(200);
    expect(await findings({ status: 'published' })).toContainEqual(concern);
  });

  it('a change that stops a release is never refused for what others changed meanwhile (§11.24)', async () => {
    await publishOnBeta({ rollout: 5 });
    const name = { app: tenant.app, channel: 'beta', version: '1.0.0' };
    const patch = (change: object) =>
      admin(node, 'PATCH', 'releases', {
        ...{ ...name, ...change },
        seen: { status: 'published', rolloutPct: 5 },
      });
    await admin(node, 'PATCH', 'releases', { ...name, rollout: 10 });
    expect(await patch({ rollout: 20 })).toMatchObject({
      status: 409,
      body: { error: 'Somebody changed this release meanwhile: it is published, at 10 %' },
    });
    for (const status of ['paused', 'deprecated', 'rolled_back']) {
      expect((await patch({ status })).status).toBe(200);
    }
  });
});

const LINUX = { platform: ARTIFACT.platform, arch: ARTIFACT.arch };
