// Tests that every page of the console has an address that can be kept, shared and reloaded, and that no
// script can read the session.

import { afterEach, beforeAll, expect, it } from 'vitest';
import { openTab, type Tab, visit, whenShown } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { type Furnished, furnish } from '../support/furnish.ts';
import { member, PASSWORD } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin } from '../support/tenant.ts';

describeInBrowser('addresses of the console', (browser) => {
  const node = sharedNode();
  let furnished: Furnished;
  const tabs: Tab[] = [];

  beforeAll(async () => {
    furnished = await furnish(node);
  });
  afterEach(async () => {
    for (const tab of tabs.splice(0)) {
      expect(await tab.complaints()).toEqual([]);
      await tab.close();
    }
  });

  async function open(token?: string) {
    const tab = await openTab(browser(), node, { token });
    tabs.push(tab);
    return tab;
  }

  it('reload to the same page', async () => {
    const { page } = await open(furnished.owner.token);
    for (const path of furnished.pages) {
      await visit(page, path);
      const seen = [page.url(), await page.title(), await page.locator('h1').first().textContent()];
      await page.reload();
      await whenShown(page);
      expect([
        page.url(),
        await page.title(),
        await page.locator('h1').first().textContent(),
      ]).toEqual(seen);
      expect(page.url()).toBe(node.url + path);
    }
  }, 120_000);

  it('by a link of the operator set a new password, once, and lead into the console', async () => {
    const person = await member(node, furnished.tenant.org, 'viewer');
    const made = await admin(node, 'POST', 'accounts/reset-password', { email: person.email });
    const link = String(made.body?.url);
    const { page } = await open();
    await page.goto(link);
    await page.getByText(person.email).waitFor();
    await page.getByLabel('New password').fill('a new and long password');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.waitForURL('**/console/apps');
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    expect((await person.elsewhere().signIn('a new and long password')).status).toBe(200);
    expect((await person.call('GET', 'session')).body?.state).toBe('signedOut');
    const { page: second } = await open();
    await second.goto(link);
    await second.getByText('It was used or has expired').waitFor();
  });

  it('are left and come back to with the buttons of the browser', async () => {
    const { page } = await open(furnished.owner.token);
    const { app } = furnished.tenant;
    await visit(page, '/console/apps');
    await page.getByRole('link', { name: '1.2.0-rc.1' }).first().click();
    await page.getByRole('heading', { name: '1.2.0-rc.1' }).waitFor();
    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
    await page.getByRole('link', { name: 'day', exact: true }).click();
    await page.waitForURL(`**/console/apps/${app}/fleet?step=day`);
    await page.goBack();
    await page.waitForURL(`**/console/apps/${app}/fleet`);
    await page.goBack();
    await page.getByRole('heading', { name: '1.2.0-rc.1' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: '1.2.0-rc.1' }).waitFor();
  });

  it('lead through the sign-in to the page that was asked for', async () => {
    const { page, context } = await open();
    const path = `/console/apps/${furnished.tenant.app}/devices/device-0`;
    await page.goto(path);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Email').fill(furnished.owner.email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'What it would get now' }).waitFor();
    expect(page.url()).toBe(node.url + path);
    const [cookie] = await context.cookies(`${node.url}/console`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/console' });
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(
      await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })'),
    ).not.toContain(cookie?.value);
  });

  it('show nothing any more once signed out, also not in another window or after going back', async () => {
    const { owner, tenant } = furnished;
    const another = owner.elsewhere();
    await another.signIn();
    const { page, context } = await open(another.token);
    const other = await context.newPage();
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await visit(page, '/console/settings/keys');
    await visit(other, `/console/apps/${tenant.app}/fleet`);
    await page.locator('summary[aria-label="Account"]').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText(tenant.app).count()).toBe(0);
    // The other window asks every few seconds.
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect((await another.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
  });
});
