// Tests that every page and dialog of the console is accessible: axe-core finds nothing, in light and
// dark, on a wide screen and on a phone.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { openTab, type Tab, visit, whenShown } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { type Furnished, furnish } from '../support/furnish.ts';
import { startNode } from '../support/node.ts';
import { Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin } from '../support/tenant.ts';

describeInBrowser('accessibility of the console', (browser) => {
  const node = sharedNode();
  let furnished: Furnished;
  let tab: Tab;

  beforeAll(async () => {
    furnished = await furnish(node);
    tab = await openTab(browser(), node, { token: furnished.owner.token });
  });
  afterAll(async () => {
    await tab?.close();
  });

  it('what is wrong would be found', async () => {
    await visit(tab.page, '/console/apps');
    await tab.page.evaluate(
      "document.querySelector('h1').append(document.createElement('button'))",
    );
    const found = await faultsOn(tab.page);
    expect(found.map((each) => each.split(' ')[0])).toContain('button-name');
  });

  it('nothing on any page', async () => {
    for (const path of furnished.pages) {
      await visit(tab.page, path);
      expect(await faultsOn(tab.page), path).toEqual([]);
    }
  }, 240_000);

  it('nothing in a dialog', async () => {
    const { app } = furnished.tenant;
    const dialogs: readonly (readonly [path: string, button: string])[] = [
      ['/console/apps', 'Create app'],
      [`/console/apps/${app}/stable`, 'Publish release'],
      [`/console/apps/${app}/stable`, 'Channel settings'],
      [`/console/apps/${app}/stable/1.2.0-rc.1`, 'Edit targeting'],
      [`/console/apps/${app}/stable/1.1.0`, 'Roll back…'],
      [`/console/apps/${app}/stable/1.0.0`, 'Pause…'],
      [`/console/apps/${app}/stable/1.0.0`, 'Plan the roll-out…'],
      [`/console/apps/${app}/beta/1.3.0`, 'Hold plan…'],
      [`/console/apps/${app}/beta/1.3.0`, 'Promote…'],
      [`/console/apps/${app}/beta/1.3.0`, 'Withdraw…'],
      ['/console/apps', 'Search'],
      ['/console/settings/webhooks', 'Enable another…'],
      ['/console/settings/webhooks', 'Settings… GitHub'],
      ['/console/settings/webhooks', 'New secret… GitHub'],
      ['/console/settings/keys', 'Mint key'],
      ['/console/settings/members', 'Invite member'],
    ];
    for (const [path, button] of dialogs) {
      await visit(tab.page, path);
      await tab.page.getByRole('button', { name: button }).first().click();
      await tab.page.getByRole('dialog').waitFor();
      expect(await faultsOn(tab.page), `${path} ${button}`).toEqual([]);
    }
  }, 300_000);

  it('a dialog takes the focus, and Escape gives it back to where it was', async () => {
    const { page } = tab;
    await visit(page, '/console/settings/keys');
    await page.getByRole('button', { name: 'Mint key' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Mint a key' });
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
    for (let press = 0; press < 8; press++) {
      await page.keyboard.press('Tab');
      // Past the dialog's last element comes the browser's own frame, and nothing of the page behind the
      // dialog.
      const place = "document.activeElement.closest('dialog') ?? document.activeElement";
      expect(await page.evaluate(`(${place}).tagName`)).toMatch(/^(?:DIALOG|BODY)$/);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Mint key' }).and(page.locator(':focus')).waitFor();
  });

  it('a version of the chart is hidden and shown with the keyboard, and the page can be skipped to', async () => {
    const { page } = tab;
    await visit(page, `/console/apps/${furnished.tenant.app}/fleet`);
    const version = page.locator('.legend').getByRole('button', { name: /^1\.0\.0/ });
    await version.focus();
    await page.keyboard.press('Enter');
    await version.and(page.locator('[aria-pressed="false"]')).waitFor();
    await page.keyboard.press('Space');
    await version.and(page.locator('[aria-pressed="true"]')).waitFor();
    await page.reload();
    await whenShown(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#content:focus').waitFor();
  });

  it('nothing on the pages before the console', async () => {
    const { org } = furnished.tenant;
    const invited = await admin(node, 'POST', 'invitations', {
      ...{ org, email: 'guest@example.com', role: 'viewer' },
    });
    const { email } = furnished.owner;
    const reset = await admin(node, 'POST', 'accounts/reset-password', { email });
    const guest = await openTab(browser(), node);
    for (const path of [
      '/console/sign-in',
      String(invited.body?.url),
      '/console/invitation/used',
      String(reset.body?.url),
      '/console/password-reset/used',
    ]) {
      await guest.page.goto(path);
      await whenShown(guest.page);
      expect(await faultsOn(guest.page), path).toEqual([]);
    }
    await guest.close();
    expect(await tab.complaints()).toEqual([]);
  }, 120_000);

  it('nothing on the page of the first run', async () => {
    const fresh = await startNode();
    const guest = await openTab(browser(), fresh);
    try {
      expect((await new Person(fresh).call('GET', 'session')).body).toEqual({ state: 'setup' });
      await visit(guest.page, '/console/');
      expect(await faultsOn(guest.page)).toEqual([]);
    } finally {
      await guest.close();
      await fresh.dispose();
    }
  });
});
