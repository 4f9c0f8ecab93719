// Plans a rollout in the browser: from a preset, held, resumed with a reason and raised by a step, and
// stopped by a guard, which says why wherever somebody looks.

import { expect, it } from 'vitest';
import { countPresses, describeOwnerTab, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { machine, untilOffered } from '../support/fleet-of.ts';
import { gone } from '../support/hands.ts';
import { admin } from '../support/tenant.ts';

describeOwnerTab('rollout plans at the console', (opened, node) => {
  it('a plan is made from a preset, begins by itself, and is held and resumed with a reason, all with the keyboard', async () => {
    const { at, page, tab, tenant, open } = opened();
    expect((await tenant.publish('1.0.0', { rollout: 0 })).status).toBe(201);
    await open('/stable/1.0.0');
    const [plan, history] = [at.region('Plan'), at.region('History')];
    const enterAt = async (name: string) => {
      await at.tabTo(plan.button(name));
      await page.keyboard.press('Enter');
    };
    await plan.reads('No plan. The rollout is raised by hand.');
    await enterAt('Plan the rollout…');
    const dialog = at.dialog('Plan the rollout of 1.0.0');
    await at.tabTo(dialog.field('Preset'));
    await page.keyboard.press('c');
    await dialog.reads('1 % for 1 day, 20 % for 4 days');
    await at.tabTo(dialog.button('Start plan'));
    await page.keyboard.press('Enter');
    await gone(dialog);
    const isNow = (state: string) => plan.place.getByText(state, { exact: true }).waitFor();
    await isNow('Plan running');
    // No reload: the first step begins by itself, and the page follows.
    await tab.soon(plan.place.locator('.plan-step.now', { hasText: '1 %' }));
    await plan.reads('the rollout goes to 20 %');
    for (const [act, reason, state] of [
      ['Hold plan', 'tickets come in', 'Plan held'],
      ['Resume plan', 'not ours', 'Plan running'],
    ] as const) {
      await enterAt(`${act}…`);
      const asked = at.dialog(`${act}: 1.0.0`);
      await at.tabTo(asked.field('Reason'));
      await page.keyboard.type(reason);
      await page.keyboard.press('Enter');
      await gone(asked);
      await isNow(state);
      await history.reads(reason);
    }
    await history.reads('held the plan');
    await enterAt('Go to 20 % now…');
    await at.dialog('Go to 20 % now: 1.0.0').send('Go to 20 % now');
    await page.getByRole('img', { name: 'Rollout: 20 %' }).waitFor();
    await open('/stable');
    await at.table('Releases').place.getByText('Plan running', { exact: true }).waitFor();
  });

  it('the first page says why a guard stopped a rollout, and one click leads to its figures and what to do', async () => {
    const { at, page, tenant } = opened();
    const artifacts = [{ platform: 'darwin', url: 'https://x.example/a.zip' }];
    const mac = { platform: 'darwin', arch: 'aarch64' };
    const run = (version: string) => tenant.report([machine('d', { ...mac, version })]);
    await run('0.9.0');
    await tenant.publish('2.0.0', { artifacts });
    expect((await tenant.check('0.9.0', { ...mac, device: 'd' })).status).toBe(200);
    await untilOffered(tenant, '2.0.0');
    await run('2.0.0');
    await run('0.9.0');
    const guards = { minimumDevices: 1, knownForMinutes: 0, confirmMinutes: 0, revertedPercent: 5 };
    const name = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const plan = { ...name, steps: [{ rollout: 100, holdMinutes: 600 }], guards };
    expect((await admin(node, 'POST', 'releases/plan', plan)).status).toBe(200);
    const isPaused = async () => (await tenant.releases())[0]?.status === 'paused';
    await eventually('the guard tripped', isPaused, 150_000);
    await visit(page, '/console/apps');
    const cause = 'reverted: 1 of 1 devices, 100 %';
    await at.region('Needs you').reads('Stopped by its guard', cause);
    const presses = await countPresses(page);
    await at.region('Needs you').follow(/^Open/);
    await at
      .region('Verdict')
      .reads(cause, 'Nothing happens by itself: roll it back, or resume it.');
    await at.button('Roll back…').waitFor();
    expect(await presses()).toBe(1);
    await at.region('Plan').reads(`Held: ${cause}`);
    await at.region('Plan').button('Resume plan…').waitFor();
    expect(await at.region('Plan').button('Hold plan…').count()).toBe(0);
    const health = at.region('Health');
    expect(await health.row(/^reverted/).textContent()).toMatch(
      /stopped the plan.*100\s% 95\s%: [\d.]+\s% to 100\s%limit 5\s%/,
    );
    await health.reads('Unhealthy');
    // The history names the plan as who did it, and the reason.
    await at.region('History').place.getByText('Its plan', { exact: true }).first().waitFor();
    await at.region('History').place.getByText('was held', { exact: true }).waitFor();
  });
});
