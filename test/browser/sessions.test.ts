// Tests how a session begins and ends in the browser: the sign-in leads to the page that was asked for,
// no script can read the session, a signed-out window shows nothing any more, and the buttons of the
// browser work meanwhile. What is filled in when a session ends is in forgiving.test.ts.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { type Feed, openFeed } from '../support/live-feed.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin, publish, type Tenant } from '../support/tenant.ts';

const FEEDS_PER_ACCOUNT = 10;

describeInBrowser('sessions at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  let owner: Person;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant, owner } = opened);
  });

  const place = (path: string) => `/console/apps/${tenant.app}${path}`;
  const heading = (name: string | RegExp) => page.getByRole('heading', { name, exact: true });

  it('a link of the operator sets a new password, once, and leads into the console', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const made = await admin(node, 'POST', 'accounts/reset-password', { email: person.email });
    const link = String(made.body?.url);
    await tab.context.clearCookies();
    await page.goto(link);
    await page.getByText(person.email).waitFor();
    await page.getByLabel('New password').fill('a new and long password');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.waitForURL('**/console/apps');
    await heading('Apps').waitFor();
    expect((await person.elsewhere().signIn('a new and long password')).status).toBe(200);
    expect((await person.call('GET', 'session')).body?.state).toBe('signedOut');
    const second = await openTab(browser(), node);
    await second.page.goto(link);
    await second.page.getByText('It was used or has expired').waitFor();
    await second.close();
  });

  it('pages are left and come back to with the buttons of the browser', async () => {
    await publish(node, tenant, '1.2.0');
    await visit(page, '/console/apps');
    await page.getByRole('link', { name: '1.2.0' }).first().click();
    await heading(/^1\.2\.0/).waitFor();
    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await heading('Fleet').waitFor();
    await page.getByRole('link', { name: 'day', exact: true }).click();
    await page.waitForURL(`**${place('/fleet?step=day')}`);
    await page.goBack();
    await page.waitForURL(`**${place('/fleet')}`);
    await page.goBack();
    await heading(/^1\.2\.0/).waitFor();
    await page.goBack();
    await heading('Apps').waitFor();
    await page.goForward();
    await heading(/^1\.2\.0/).waitFor();
  });

  it('the sign-in leads to the page that was asked for, and no script can read the session', async () => {
    await tab.context.clearCookies();
    await page.goto(place('/devices/device-0'));
    await heading('Sign in').waitFor();
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('No device with this id is on record').waitFor();
    expect(page.url()).toBe(node.url + place('/devices/device-0'));
    const [cookie] = await tab.context.cookies(`${node.url}/console`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/console' });
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(
      await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })'),
    ).not.toContain(cookie?.value);
  });

  it('nothing is shown any more once signed out, also not in another window or after going back', async () => {
    const other = await tab.context.newPage();
    await visit(page, place('/stable'));
    await visit(page, '/console/settings/keys');
    await visit(other, place('/fleet'));
    await page.locator('summary[aria-label="Account"]').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in').waitFor();
    await page.goBack();
    await heading('Sign in').waitFor();
    expect(await page.getByText(tenant.app).count()).toBe(0);
    await tab.soon(other.getByRole('heading', { name: 'Sign in' }));
    expect((await owner.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
  });

  it('a live feed says that too many are open, goes on once there is a place, and ends with its session', async () => {
    const feeds: Feed[] = [];
    for (let count = 0; count < FEEDS_PER_ACCOUNT; count++) {
      const feed = await openFeed(owner, tenant.app);
      if (typeof feed !== 'number') feeds.push(feed);
    }
    expect(feeds).toHaveLength(FEEDS_PER_ACCOUNT);
    await visit(page, place('/fleet'));
    const full = page.getByText('Too many live feeds are open.');
    await tab.soon(full);
    await Promise.all(feeds.map((feed) => feed.leave()));
    await tab.soon(page.getByText('a second'));
    expect(await full.count()).toBe(0);
    // The feed itself tells the page: no poll is due.
    expect((await owner.call('DELETE', 'sessions')).status).toBe(200);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  });
});
