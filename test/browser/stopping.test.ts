// Tests the button that stops all that an app has published, and the way back (docs/contract.md 4.21, 4.22).

import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { countPresses, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { releasesOf } from '../support/published.ts';
import { sharedNode } from '../support/service-suite.ts';
import { control, publish, report, type Tenant } from '../support/tenant.ts';

describeInBrowser('stopping at the console', (browser) => {
  const node = sharedNode();
  let page: Page;
  let tenant: Tenant;
  eachOwnerTab(browser, node, (opened) => {
    ({ page, tenant } = opened);
  });

  async function statuses(): Promise<unknown[]> {
    const releases = await releasesOf(node, tenant);
    return releases.map(({ channel, status }) => `${channel} ${status}`).sort();
  }

  it('says how many releases and devices it stops, stops what others raised meanwhile, and resumes it', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    await publish(node, tenant, '2.0.0', { channel: 'beta' });
    const device = { version: '0.9.0', platform: 'linux', arch: 'x86_64' };
    await report(node, tenant, [
      { deviceId: 'one', ...device },
      { deviceId: 'two', ...device, channel: 'beta' },
    ]);
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await page.getByRole('button', { name: 'Stop…', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: /^Stop / });
    await dialog.getByText('It pauses 2 published releases, for 2 devices').waitFor();
    const what = dialog.getByLabel('What', { exact: true });
    await what.selectOption({ label: 'Only stable' });
    await dialog.getByText('It pauses 1 published release, for 1 device').waitFor();
    await what.selectOption({ label: 'All channels' });
    await dialog.getByText('It pauses 2 published releases, for 2 devices').waitFor();
    expect((await control(node, tenant, '1.0.0', { rollout: 80 })).status).toBe(200);
    await dialog.getByLabel('Reason').fill('they crash');
    await dialog.getByRole('button', { name: 'Stop all of it' }).click();
    await page.getByText('2 releases stopped').waitFor();
    expect(await statuses()).toEqual(['beta paused', 'stable paused']);
    await control(node, tenant, '1.0.0', { status: 'paused' });
    await page.getByRole('button', { name: 'Resume…', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Resume what was stopped' });
    await question.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('1 release published again.').waitFor();
    await page.getByText('stable 1.0.0 is left as it is.').waitFor();
    expect(await statuses()).toEqual(['beta published', 'stable paused']);
  });

  it('on a phone a release is paused with three taps from the first page, without scrolling', async () => {
    const size = { width: 390, height: 844 };
    await page.setViewportSize(size);
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    await visit(page, '/console/apps');
    const presses = await countPresses(page);
    const tap = async (target: Locator) => {
      await target.waitFor();
      const box = await target.boundingBox();
      expect((box?.y ?? size.height) + (box?.height ?? 0)).toBeLessThanOrEqual(size.height);
      await target.click();
    };
    await tap(page.getByRole('link', { name: '1.0.0' }).first());
    await tap(page.getByRole('button', { name: 'Pause…' }));
    const dialog = page.getByRole('dialog', { name: 'Pause 1.0.0' });
    await dialog.getByRole('status', { name: 'What it would do' }).waitFor();
    await tap(dialog.getByRole('button', { name: 'Pause 1.0.0' }));
    await dialog.waitFor({ state: 'detached' });
    expect(await presses()).toBe(3);
    expect(await statuses()).toEqual(['stable paused']);
  });
});
