// Tests dry runs of plans, presets and hours as clients of the management API and of the command line use
// them (docs/contract.md 27.10 to 27.12).

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { ARTIFACT, createTenant, manage, publish, report, type Tenant } from '../support/tenant.ts';

type Json = Record<string, unknown>;
type DryRunAnswer = { plan: Json; findings: { path: string; message: string }[]; effect: Json };

const PLAN = 'releases/plan';
const STEPS = [
  { rollout: 10, holdMinutes: 60 },
  { rollout: 50, holdMinutes: 60 },
];
const HOURS = { days: ['mon'], from: '09:00', to: '17:00', timeZone: 'Europe/Berlin' };

serviceSuite('dry runs of plans', (node) => {
  function put(tenant: Tenant, parts: object, query = '') {
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    return manage(node, tenant, 'PUT', `${PLAN}${query}`, { ...name, ...parts });
  }

  function show(tenant: Tenant) {
    const query = new URLSearchParams({ app: tenant.app, channel: 'stable', version: '1.0.0' });
    return manage(node, tenant, 'GET', `${PLAN}?${query}`);
  }

  async function released(rollout: number): Promise<Tenant> {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0', { rollout });
    return tenant;
  }

  describe('a dry run', () => {
    it('says the first raise with numbers, and writes nothing (§27.12)', async () => {
      const tenant = await released(10);
      const devices = Array.from({ length: 20 }, (_, index) => ({
        ...{ deviceId: `device-${index}`, channel: 'stable', platform: 'linux', arch: 'x86_64' },
        version: '0.9.0',
      }));
      await report(node, tenant, devices);
      const steps = [{ rollout: 100, holdMinutes: 60 }];
      const dryRun = async () =>
        (await put(tenant, { steps }, '?dryRun=true')).body as DryRunAnswer;
      await eventually('the devices are on record', async () => {
        return ((await dryRun()).effect.devices as number) === 20;
      });
      const { plan, findings, effect } = await dryRun();
      expect(plan).toMatchObject({ version: '1.0.0', status: 'running', step: null });
      expect(Object.keys(plan)).not.toContain('id');
      const [first] = findings;
      expect(first).toMatchObject({ path: 'steps.0.rollout', severity: 'warning' });
      expect(first?.message).toMatch(
        new RegExp(`^At once.* from 10 % to 100 %, for about ${effect.gain} devices? more$`),
      );
      expect((await show(tenant)).status).toBe(404);
    });

    it('says which steps are reached, which guards cannot judge, and which holds are short (§27.12)', async () => {
      const tenant = await released(10);
      const guards = { stuckPercent: 2 };
      const { body } = await put(tenant, { steps: STEPS, guards }, '?dryRun=true');
      const { plan, findings } = body as DryRunAnswer;
      expect(plan).toMatchObject({ step: 0, onBlind: 'hold', patienceMinutes: 1440 });
      const said = findings.map(({ path, message }) => `${path}: ${message}`).join('\n');
      expect(said).toContain('steps.0.rollout: The rollout is at 10 % already');
      expect(said).toContain(
        'guards: Of 0 devices that are known for long enough 10 % are 0, 50 % are 0; ' +
          'the guards of stuck need 100: there they cannot judge, and the plan waits, and is held',
      );
      expect(said).toContain(
        'steps.0.holdMinutes: The hold of 60 minutes is shorter than stuckAfter',
      );
      expect(said).not.toContain('raises the rollout');
    });

    it('of a release that begins with a plan, or is promoted with one, says it as well (§23.6)', async () => {
      const tenant = await released(10);
      const plan = { steps: STEPS, guards: { failedPercent: 2, confirmMinutes: 90 } };
      const { app } = tenant;
      const publishing = { app, channel: 'stable', version: '1.1.0', artifacts: [ARTIFACT], plan };
      const promotion = { app, from: 'stable', to: 'beta', version: '1.0.0', plan };
      for (const [path, body] of [
        ['releases', publishing],
        ['releases/promote', promotion],
      ] as const) {
        const answer = await manage(node, tenant, 'POST', `${path}?dryRun=true`, body);
        expect((answer.body as DryRunAnswer).findings).toEqual(
          expect.arrayContaining([
            {
              ...{ path: 'plan.guards', severity: 'warning' },
              message: expect.stringMatching(/^Of 0 devices .* the guards of failed need 100: /),
            },
            expect.objectContaining({ path: 'plan.steps.1.holdMinutes' }),
          ]),
        );
      }
    });

    it('is refused as the plan is, and dryRun is true or false (§27.12)', async () => {
      const tenant = await released(10);
      expect((await put(tenant, { steps: STEPS }, '?dryRun=maybe')).status).toBe(400);
      expect((await put(tenant, { steps: STEPS })).status).toBe(200);
      expect((await put(tenant, { steps: STEPS }, '?dryRun=true')).status).toBe(409);
    });
  });

  describe('presets and hours', () => {
    it('are listed, and stand for steps, guards and onBlind (§27.12)', async () => {
      const tenant = await released(0);
      const { body } = await manage(node, tenant, 'GET', `${PLAN}/presets`);
      const { presets } = body as { presets: Json[] };
      expect(presets.map(({ name }) => name)).toEqual(['careful', 'normal', 'fast']);
      const made = await put(tenant, { preset: 'fast', raiseBetween: HOURS });
      const { plan } = made.body as { plan: Json };
      expect(plan).toMatchObject({ preset: 'fast', onBlind: 'advance', raiseBetween: HOURS });
      expect(plan.guards).toEqual(presets[2]?.guards);
      expect(plan.steps).toMatchObject(presets[2]?.steps as object[]);
    });

    it.each<[object, string]>([
      [{ preset: 'fast', steps: STEPS }, 'preset'],
      [{ preset: 'fast', guards: {} }, 'preset'],
      [{ preset: 'fast', onBlind: 'hold' }, 'preset'],
      [{ preset: 'reckless' }, 'preset'],
      [{}, 'steps'],
      [{ steps: STEPS, patienceMinutes: 43_201 }, 'patienceMinutes'],
      [{ steps: STEPS, onBlind: 'pause' }, 'onBlind'],
      [{ steps: STEPS, raiseBetween: { ...HOURS, days: [] } }, 'raiseBetween.days'],
      [{ steps: STEPS, raiseBetween: { ...HOURS, days: ['mon', 'mon'] } }, 'raiseBetween.days'],
      [{ steps: STEPS, raiseBetween: { ...HOURS, from: '9:00' } }, 'raiseBetween.from'],
      [{ steps: STEPS, raiseBetween: { ...HOURS, to: '09:00' } }, 'raiseBetween.to'],
      [{ steps: STEPS, raiseBetween: { ...HOURS, timeZone: 'Berlin' } }, 'raiseBetween.timeZone'],
    ])('%j is refused by %s', async (parts, field) => {
      const tenant = await released(0);
      const { status, body } = await put(tenant, parts);
      expect(status).toBe(400);
      expect((body as { error: string }).error).toMatch(
        new RegExp(`^${field.replace('.', '\\.')}`),
      );
    });

    it('a release is born under a preset (§27.8)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { plan: { preset: 'normal' } });
      expect((await show(tenant)).body).toMatchObject({ plan: { preset: 'normal' } });
    });
  });

  describe('the command line', () => {
    function sluice(tenant: Tenant, ...args: string[]) {
      const name = ['--app', tenant.app, '--channel', 'stable', '--version', '1.0.0'];
      return runSluiceHere(['plan', 'set', ...name, ...args], {
        ...{ SLUICE_URL: node.url, SLUICE_KEY: tenant.secret },
      });
    }

    it('plan set --dry-run says what a plan would do, and set says it first (Command line)', async () => {
      const tenant = await released(5);
      const dry = await sluice(tenant, '--preset', 'fast', '--dry-run');
      expect(dry.code, dry.stderr).toBe(0);
      expect(dry.stdout).toContain('warning: steps.0.rollout: At once the plan raises the rollout');
      expect(dry.stdout).toContain('effect: of 0 devices');
      expect((await show(tenant)).status).toBe(404);
      const between = 'fri-mon 22:00-06:00 Europe/Berlin';
      const set = await sluice(tenant, '--preset', 'fast', '--between', between);
      expect(set.code, set.stderr).toBe(0);
      expect(set.stdout).toMatch(
        /^warning: steps\.0\.rollout: Once its hours are open [^\n]+ from 5 % to 20 %/,
      );
      expect((await show(tenant)).body).toMatchObject({
        plan: { preset: 'fast', raiseBetween: { days: ['fri', 'sat', 'sun', 'mon'] } },
      });
    });

    it('plan set --source push counts devices that were reported (Command line)', async () => {
      const tenant = await released(5);
      const args = ['--steps', '10:60', '--failed-percent', '2', '--source', 'push', '--json'];
      const { code, stdout, stderr } = await sluice(tenant, ...args);
      expect([code, stderr]).toEqual([0, '']);
      expect(JSON.parse(stdout)).toMatchObject({
        plan: { guards: { failedPercent: 2, source: 'push' } },
        findings: expect.any(Array),
      });
    });
  });
});
