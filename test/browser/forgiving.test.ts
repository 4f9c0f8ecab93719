// Tests that the console loses nothing that somebody has filled in, says what is wrong where it is wrong, and
// stops saying so once it is put right.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { goOn, toStep } from '../support/dialog-steps.ts';
import { eventually } from '../support/eventually.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { PASSWORD, type Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { publish, type Tenant } from '../support/tenant.ts';

/** Longest time between two polls of the pages that are opened here. */
const POLL_MS = 15_000;

describeInBrowser('forms at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  let owner: Person;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant, owner } = opened);
  });

  async function beginRelease(version: string) {
    await page.getByRole('button', { name: 'Publish release' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByLabel('Version').fill(version);
    return dialog;
  }

  it('the end of the session asks to sign in over the page, and what was filled in is still there', async () => {
    await visit(page, `/console/apps/${tenant.app}/stable`);
    const dialog = await beginRelease('7.0.0');
    await tab.context.clearCookies();
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await tab.soon(again);
    await page.keyboard.press('Escape');
    await again.getByLabel('Email').fill(owner.email);
    await again.getByLabel('Password').fill('not the password');
    await page.keyboard.press('Enter');
    await again.getByRole('alert').waitFor();
    await again.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Version').inputValue()).toBe('7.0.0');
    await toStep(dialog, 'Review');
    await dialog.getByRole('button', { name: 'Publish', exact: false }).waitFor();
  });

  it('a refusal of what was asked before does not end the session that was begun after it', async () => {
    await visit(page, `/console/apps/${tenant.app}/stable`);
    const dialog = await beginRelease('7.0.0');
    const held: (() => Promise<void>)[] = [];
    await page.route('**/console/api/**', async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      // The first refusal asks to sign in; those of the next polls are on their way for long.
      if (response.status() === 401 && held.push(() => route.fulfill({ response })) > 1) return;
      // A poll may be on its way while the test takes the route away.
      await route.fulfill({ response }).catch(() => undefined);
    });
    await tab.context.clearCookies();
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await tab.soon(again);
    await eventually('more are refused', async () => {
      if (held.length < 2) await tab.pass(POLL_MS);
      return held.length > 1;
    });
    await again.getByLabel('Email').fill(owner.email);
    await again.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    for (const arrive of held.slice(1)) await arrive();
    // An answer that arrives behind them.
    await page.evaluate("fetch('/console/api/session').then((answer) => answer.text())");
    expect(await again.count()).toBe(0);
    expect(await dialog.getByLabel('Version').inputValue()).toBe('7.0.0');
  });

  it('the end of the session shows the sign-in page when nothing is filled in', async () => {
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await tab.context.clearCookies();
    await tab.soon(page.getByRole('heading', { name: 'Sign in', exact: true }));
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('going back asks before it throws away what was filled in', async () => {
    await visit(page, '/console/apps');
    await page.getByRole('link', { name: 'stable' }).first().click();
    const dialog = await beginRelease('7.0.0');
    await page.evaluate('history.back()');
    await dialog.getByText('Discard what you entered?').waitFor();
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    expect(await dialog.getByLabel('Version').inputValue()).toBe('7.0.0');
    await page.evaluate('history.back()');
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.evaluate('history.back()');
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
  });

  it('a refused field says why, is marked and focused, until it is changed', async () => {
    await visit(page, `/console/apps/${tenant.app}/stable`);
    const dialog = await beginRelease('7.0.0');
    await dialog.getByRole('button', { name: 'Add an artifact' }).click();
    // The first row is empty: it is not sent, and the refusal is about the second one.
    await dialog.getByLabel('Platform').nth(1).fill('darwin');
    const url = dialog.getByLabel('URL').nth(1);
    await url.fill('ftp://x.example/a.zip');
    await toStep(dialog, 'How fast');
    await goOn(dialog);
    await dialog.getByRole('alert').getByText('Must be an absolute http(s) URL').waitFor();
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    expect(await url.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
    expect(await dialog.getByText('artifacts.0.url').count()).toBe(0);
    await url.fill('https://x.example/a.zip');
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    expect(await url.getAttribute('aria-invalid')).toBeNull();
  });

  it('an outage is said once for the whole page, and is over on all of it at once', async () => {
    await publish(node, tenant, '1.0.0');
    await visit(page, `/console/apps/${tenant.app}/fleet`);
    await page
      .getByRole('button', { name: 'Account' })
      .or(page.getByLabel('Account'))
      .first()
      .click();
    await page.route('**/console/api/**', (route) => route.abort());
    await tab.soon(page.getByRole('alert').getByText('cannot be reached'));
    for (let poll = 0; poll < 3; poll += 1) {
      const refused = page.waitForEvent('requestfailed');
      await tab.pass(POLL_MS);
      await refused;
    }
    // An answer that was on its way ends the outage for a moment: the next poll finds it again.
    await tab.soon(page.getByText('cannot be reached').first());
    expect(await page.getByText('cannot be reached').count()).toBe(1);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => page.getByText('cannot be reached').count()).toBe(2);
    await page.unroute('**/console/api/**');
    await tab.soon(page.getByText('cannot be reached'), 'detached');
  });
});
