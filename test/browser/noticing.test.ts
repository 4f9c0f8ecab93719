// Tests that the console says what has happened, and what is wrong, to everybody who has to know.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { sharedNode } from '../support/service-suite.ts';
import { control, publish, type Tenant } from '../support/tenant.ts';

describeInBrowser('what the console says', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant } = opened);
  });

  const place = (path = '') => `/console/apps/${tenant.app}${path}`;

  it('the overview begins with what needs a person, and leads there', async () => {
    await visit(page, '/console/apps');
    await page.getByText('Nothing needs you').waitFor();
    await publish(node, tenant, '1.0.0', { artifacts: [] });
    const strip = page.getByRole('region', { name: 'Needs you' });
    await tab.soon(strip);
    await strip.getByText('It is published without a file that a device could install.').waitFor();
    await strip.getByRole('link', { name: `Open ${tenant.app}/stable 1.0.0` }).click();
    await page.getByRole('heading', { name: '1.0.0' }).waitFor();
    await control(node, tenant, '1.0.0', { status: 'paused' });
    await visit(page, '/console/apps');
    await page.getByText('Nothing needs you').waitFor();
    expect(page.url()).not.toContain(place());
  });
});
