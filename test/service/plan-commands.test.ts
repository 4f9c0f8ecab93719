// Tests the commands of rollout plans against a running service (docs/operating/commands.md).

import { expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type CommandResult, runSluiceHere } from '../support/sluice-command.ts';
import { createTenant, type Json, type Tenant } from '../support/tenant.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;

serviceSuite('the commands of plans', (node) => {
  function sluice(tenant: Tenant, command: string, ...more: string[]): Promise<CommandResult> {
    const name = ['--app', tenant.app, '--channel', 'stable', '--version', '1.0.0'];
    const env = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
    return runSluiceHere(['plan', command, ...name, ...more], env);
  }

  async function planOf(tenant: Tenant, command: string, ...more: string[]): Promise<Json> {
    const { code, stdout, stderr } = await sluice(tenant, command, ...more, '--json');
    expect([code, stderr], stdout).toEqual([0, '']);
    return (JSON.parse(stdout) as { plan: Json }).plan;
  }

  const released = () => createTenant(node, ['1.0.0', { rollout: 0 }]);

  it('set makes a plan of steps and limits, and show says where it stands, with the health (Command line)', async () => {
    const tenant = await released();
    const limits = ['--silent-percent', '1.25', '--minimum-devices', '50', '--on-trip', 'hold'];
    const made = await planOf(tenant, 'set', '--steps', '10:60, 100:0', ...limits);
    expect(made).toMatchObject({
      ...{ status: 'running', onTrip: 'hold' },
      steps: [
        { rollout: 10, holdMinutes: 60 },
        { rollout: 100, holdMinutes: 0 },
      ],
      guards: { silentPercent: 1.25, minimumDevices: 50, stuckAfterMinutes: 1440 },
    });
    await eventually('the first step has begun', async () => {
      await sleep(200);
      return (await planOf(tenant, 'show')).step === 0;
    });
    const { stdout } = await sluice(tenant, 'show');
    expect(stdout).toContain('status: running\n');
    expect(stdout).toContain('step: 1 of 2\n');
    expect(stdout).toMatch(/^STEP +ROLLOUT +HOLD +BEGAN +ENDED$/m);
    expect(stdout).toMatch(/^2 +100 % +0 min *$/m);
    expect(stdout).toContain('health: too early, offered to 0, installed by 0\n');
    expect(stdout).toMatch(/^silent +0 +0 % +0 to 0 % +1\.25 % *$/m);
  });

  it('hold, resume, advance and cancel steer it, each with its reason in the audit (Command line)', async () => {
    const tenant = await released();
    await planOf(tenant, 'set', '--steps', '10:600,20:600');
    const held = { status: 'held', nextAt: null };
    expect(await planOf(tenant, 'hold', '--reason', 'odd reports')).toMatchObject(held);
    expect((await tenant.audit())[0]).toMatchObject({ reason: 'odd reports' });
    expect(await planOf(tenant, 'resume')).toMatchObject({ status: 'running' });
    expect(await planOf(tenant, 'advance')).toMatchObject({ status: 'running' });
    expect(await planOf(tenant, 'cancel')).toMatchObject({ status: 'cancelled' });
  });

  it('what the service refuses is said in one line, and ends with 1 (Command line)', async () => {
    const tenant = await released();
    const none = await sluice(tenant, 'show');
    expect([none.code, none.stdout, none.stderr]).toEqual([1, '', 'sluice: No plan\n']);
    const falling = await sluice(tenant, 'set', '--steps', '20:60,10:60');
    expect([falling.code, falling.stdout]).toEqual([1, '']);
    expect(falling.stderr).toMatch(ONE_LINE);
    expect(falling.stderr).toContain('steps');
    await planOf(tenant, 'set', '--steps', '10:60');
    await tenant.control('1.0.0', { status: 'paused' });
    const paused = await sluice(tenant, 'resume');
    expect([paused.code, paused.stderr]).toEqual([
      1,
      'sluice: The release is paused: publish it before its plan goes on\n',
    ]);
  });

  it.each([
    [['--steps', '10'], 'Not percent:minutes'],
    [['--steps', '10:60', '--silent-percent', 'much'], 'Not a number'],
    [['--steps', '10:60', '--minimum-devices', '1.5'], 'Not a whole number'],
    [['--steps', '10:60', '--on-trip', 'explode'], 'Allowed choices are hold, pause'],
    [[], '--steps'],
  ])('set %j is refused before anything is asked', async (args, reason) => {
    const tenant = { app: 'notes', secret: 'none' } as Tenant;
    const { code, stdout, stderr } = await sluice(tenant, 'set', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
  });
});
