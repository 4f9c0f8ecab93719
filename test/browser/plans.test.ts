// Plans a rollout in the browser: from a preset, held and resumed with a reason, and stopped by a guard.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { tabTo } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eachOwnerTab, type OwnerTab } from '../support/owner-tab.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin, publish } from '../support/tenant.ts';

const TRIPPED =
  'failed: 12 of 100 devices, 12 % (95 % interval 7 to 19.8 %), above the limit of 2 %';

describeInBrowser('rollout plans at the console', (browser) => {
  const node = sharedNode();
  let opened: OwnerTab;
  let page: Page;
  eachOwnerTab(browser, node, (tab) => {
    opened = tab;
    page = tab.page;
  });

  async function openRelease(): Promise<void> {
    expect((await publish(node, opened.tenant, '1.0.0', { rollout: 0 })).status).toBe(201);
    await page.goto(`/console/apps/${opened.tenant.app}/stable/1.0.0`);
  }

  const plan = () => page.getByRole('region', { name: 'Plan' });
  const history = () => page.getByRole('region', { name: 'History' });

  it('a plan is made from a preset, begins by itself, and is held and resumed with a reason, all with the keyboard', async () => {
    await openRelease();
    await plan().getByText('No plan. The rollout is raised by hand.').waitFor();
    await tabTo(page, plan().getByRole('button', { name: 'Plan the rollout…' }));
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Plan the rollout of 1.0.0' });
    await tabTo(page, dialog.getByLabel('Preset'));
    await page.keyboard.press('c');
    await dialog.getByText('1 % for 1 day, 20 % for 4 days').waitFor();
    await tabTo(page, dialog.getByRole('button', { name: 'Start plan' }));
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await plan().getByText('Plan running', { exact: true }).waitFor();
    // No reload: the first step begins by itself, and the page follows.
    await opened.tab.soon(plan().locator('.plan-step.now', { hasText: '1 %' }));
    await plan().getByText('the rollout goes to 20 %').waitFor();
    await tabTo(page, plan().getByRole('button', { name: 'Hold plan…' }));
    await page.keyboard.press('Enter');
    const held = page.getByRole('dialog', { name: 'Hold plan: 1.0.0' });
    await tabTo(page, held.getByLabel('Reason'));
    await page.keyboard.type('tickets come in');
    await page.keyboard.press('Enter');
    await held.waitFor({ state: 'detached' });
    await plan().getByText('Plan held', { exact: true }).waitFor();
    await history().getByText('held the plan').waitFor();
    await history().getByText('tickets come in').waitFor();
    await tabTo(page, plan().getByRole('button', { name: 'Resume plan…' }));
    await page.keyboard.press('Enter');
    const resumed = page.getByRole('dialog', { name: 'Resume plan: 1.0.0' });
    await tabTo(page, resumed.getByLabel('Reason'));
    await page.keyboard.type('not ours');
    await page.keyboard.press('Enter');
    await resumed.waitFor({ state: 'detached' });
    await plan().getByText('Plan running', { exact: true }).waitFor();
    await page.goto(`/console/apps/${opened.tenant.app}/stable`);
    await page
      .getByRole('table', { name: /Releases/ })
      .getByText('Plan running', { exact: true })
      .waitFor();
  });

  it('a plan with steps of its own says what they lack, and is made', async () => {
    await openRelease();
    await plan().getByRole('button', { name: 'Plan the rollout…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Plan the rollout of 1.0.0' });
    await dialog.getByLabel('Preset').selectOption('own');
    await dialog.getByLabel('Share of step 1 (%)').fill('30');
    const start = dialog.getByRole('button', { name: 'Start plan' });
    await dialog.getByText('Each step needs a share above that of the step before it').waitFor();
    expect(await start.isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Remove step 2' }).click();
    await dialog.getByLabel('Hold of step 1 (hours)').fill('2');
    await dialog.getByText('Step 1: the hold of 2 hours is shorter than').waitFor();
    await start.click();
    await dialog.waitFor({ state: 'detached' });
    const query = `app=${opened.tenant.app}&channel=stable&version=1.0.0`;
    const { body } = await admin(node, 'GET', `releases/plan?${query}`);
    const steps = [
      { rollout: 30, holdMinutes: 120 },
      { rollout: 100, holdMinutes: 720 },
    ];
    expect(body).toMatchObject({ plan: { preset: null, steps, guards: { silentPercent: 1 } } });
  });

  it('a plan that a guard holds says why in figures, and shows the interval against the limit', async () => {
    await openRelease();
    const name = { app: opened.tenant.app, channel: 'stable', version: '1.0.0' };
    const steps = [{ rollout: 10, holdMinutes: 60 }];
    const guards = { failedPercent: 2 };
    await admin(node, 'POST', 'releases/plan', { ...name, steps, guards });
    // The figures take a fleet and a day; the page is shown the service's own answer with those put in.
    await page.route('**/console/api/releases/plan?*', async (route) => {
      const answer = await route.fetch();
      const found = await answer.json();
      const failed = { base: 100, percent: 12, low: 7, high: 19.8, limit: 2, tripped: true };
      const { health } = found;
      const rates = { ...health.rates, failed };
      await route.fulfill({
        response: answer,
        json: {
          plan: { ...found.plan, status: 'held', reason: TRIPPED, nextAt: null },
          health: { ...health, offered: 100, failed: 12, rates, verdict: 'unhealthy' },
        },
      });
    });
    await page.reload();
    await plan().getByText(`Held: ${TRIPPED}`).waitFor();
    const health = page.getByRole('region', { name: 'Health' });
    const row = health.getByRole('row', { name: /^failed/ });
    expect(await row.textContent()).toMatch(
      /stopped the plan.*12\s% 95\s%: 7\s% to 19\.8\s%limit 2\s%/,
    );
    await health.getByText('Unhealthy').waitFor();
    await plan().getByRole('button', { name: 'Resume plan…' }).waitFor();
    expect(await plan().getByRole('button', { name: 'Hold plan…' }).count()).toBe(0);
  });
});
