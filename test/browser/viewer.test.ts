// Tests that pages offer a viewer no change. That the service refuses every write of a viewer is in
// test/service/console-roles.test.ts.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTab, type Tab, visit, whenShown } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { type Furnished, furnish } from '../support/furnish.ts';
import { PASSWORD } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';

/** Buttons that a viewer may press: they change the view, or the viewer's own account. */
const HARMLESS = [
  ...['Pause feed', 'Find', 'Filter', 'Try again'],
  ...['Search', 'Keys ?', 'Save as CSV', 'Show', 'Why not…'],
  ...['Sign out', 'End all others', 'Change password', 'Add a passkey'],
];
/** Beginnings of the names of further harmless buttons, which go on with their subject. */
const HARMLESS_BEGIN = /^(?:Theme|Copy|Sign out|Remove platform) ?/;

describeInBrowser('a viewer at the console', (browser) => {
  const node = sharedNode();
  let furnished: Furnished;
  let owner: Tab;
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    furnished = await furnish(node);
    owner = await openTab(browser(), node, { token: furnished.owner.token });
    tab = await openTab(browser(), node);
    page = tab.page;
  });
  afterAll(async () => {
    await owner?.close();
    await tab?.close();
  });

  /** The names of all buttons on the page, but for those of the chart's legend. */
  async function buttons(of: Page): Promise<readonly string[]> {
    const found = await of.locator('button:not(.legend button), input[type="submit"]').all();
    return Promise.all(
      found.map(
        async (each) => (await each.getAttribute('aria-label')) ?? (await each.textContent()) ?? '',
      ),
    );
  }

  it('comes in by a link that an owner makes in the page', async () => {
    await visit(owner.page, '/console/settings/members');
    await owner.page.getByRole('button', { name: 'Invite member' }).click();
    const dialog = owner.page.getByRole('dialog');
    await dialog.getByLabel('Email').fill('viewer@example.com');
    await dialog.getByRole('button', { name: 'Make invitation' }).click();
    await owner.page.getByRole('dialog', { name: 'Invitation made' }).waitFor();
    const link = (await owner.page.locator('.secret-text').textContent()) ?? '';
    await owner.page.getByRole('button', { name: 'Done' }).click();
    await page.goto(link);
    await page.getByText('invites viewer@example.com as viewer').waitFor();
    await page.getByLabel('Your name').fill('Vera Viewer');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Accept invitation' }).click();
    await page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
    await page.goto(link);
    await page.getByText('It was used, revoked or has expired.').waitFor();
  });

  it('finds no control that writes, on any page', async () => {
    for (const path of furnished.pages) {
      await visit(page, path);
      const offered = await buttons(page);
      expect(
        offered.filter((name) => !HARMLESS.includes(name) && !HARMLESS_BEGIN.test(name)),
        path,
      ).toEqual([]);
      await expect(page.getByRole('combobox', { name: /^Role of/ }).count()).resolves.toBe(0);
    }
  });

  it('finds the controls in place as soon as the role is raised', async () => {
    await owner.page.reload();
    const raised = owner.page.waitForResponse((answer) => answer.request().method() !== 'GET');
    await owner.page.getByLabel('Role of Vera Viewer').selectOption('publisher');
    expect((await raised).ok()).toBe(true);
    await page.goto(`/console/apps/${furnished.tenant.app}/stable/1.1.0`);
    await whenShown(page);
    await page.getByRole('button', { name: 'Roll back…' }).waitFor();
    expect(await owner.complaints()).toEqual([]);
    expect(await tab.complaints()).toEqual([]);
  });
});
