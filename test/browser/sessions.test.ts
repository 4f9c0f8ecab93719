// How a session begins and ends in the browser: the sign-in leads to the page that was asked for, no script
// can read the session, and a signed-out window shows nothing any more. What is filled in when a session
// ends is in forgiving.test.ts.

import { expect, it } from 'vitest';
import { describeOwnerTab, openTab, visit } from '../support/browser.ts';
import { member, PASSWORD } from '../support/person.ts';
import { admin } from '../support/tenant.ts';

describeOwnerTab('sessions at the console', (opened, node, browser) => {
  it('a link of the operator sets a new password, once, and leads into the console', async () => {
    const { at, page, tab, tenant } = opened();
    const person = await member(node, tenant.org, 'viewer');
    const made = await admin(node, 'POST', 'accounts/reset-password', { email: person.email });
    const link = String(made.body?.url);
    await tab.context.clearCookies();
    await page.goto(link);
    await at.reads(person.email);
    await at.fill('New password', 'a new and long password');
    await at.press('Set password');
    await page.waitForURL('**/console/apps');
    await at.heading('Apps').waitFor();
    const second = await openTab(browser(), node);
    await second.page.goto(link);
    await second.at.reads('It was used or has expired');
    await second.close();
  });

  it('the sign-in leads to the page that was asked for, its pages come back, and none once signed out', async () => {
    const { at, page, tab, tenant, owner, place, open } = opened();
    await tenant.publish('1.2.0');
    await tab.context.clearCookies();
    await page.goto(place('/devices/device-0'));
    await at.heading('Sign in').waitFor();
    await at.fill('Email', owner.email);
    const tooMany = { status: 429, headers: { 'Retry-After': '898' }, json: { error: 'Too many' } };
    await page.route('**/console/api/session', (route) =>
      route.request().method() === 'GET' ? route.continue() : route.fulfill(tooMany),
    );
    await at.enter('Password', 'wrong');
    await at.warns('Try again in 15 minutes.');
    await at.field('Password').and(page.locator(':focus')).waitFor();
    await page.unroute('**/console/api/session');
    await at.enter('Password', 'not the password');
    await at.warns(/wrong/i);
    await at.fill('Password', PASSWORD);
    await at.press('Sign in');
    await at.reads('No device with this id is on record');
    expect(page.url()).toBe(node.url + place('/devices/device-0'));
    const [cookie] = await tab.context.cookies(`${node.url}/console`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/console' });
    expect(await page.evaluate('document.cookie')).toBe('');
    const stored = await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })');
    expect(stored).not.toContain(cookie?.value);

    await visit(page, '/console/apps');
    await at.link('1.2.0').first().click();
    await at.heading(/^1\.2\.0/).waitFor();
    await page.goBack();
    await at.heading('Apps').waitFor();
    await page.goForward();
    await at.heading(/^1\.2\.0/).waitFor();

    const other = await tab.context.newPage();
    await open('/stable');
    await visit(page, '/console/settings/keys');
    await visit(other, place('/fleet'));
    await page.locator('summary[aria-label="Account"]').click();
    await at.press('Sign out');
    await at.heading('Sign in').waitFor();
    await page.goBack();
    await at.heading('Sign in').waitFor();
    await at.lacks(tenant.app);
    await tab.soon(other.getByRole('heading', { name: 'Sign in', exact: true }));
    // Nothing is filled in there, so the page is replaced.
    expect(await other.getByRole('dialog').count()).toBe(0);
    owner.token = cookie?.value;
    expect((await owner.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
  });
});
