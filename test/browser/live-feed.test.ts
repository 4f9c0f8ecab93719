// Tests what a page shows of a live feed that the service refuses or ends.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { type Feed, openFeed } from '../support/live-feed.ts';
import { member, type Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const PER_ACCOUNT = 10;

describeInBrowser('a live feed', (browser) => {
  const node = sharedNode();
  let tenant: Tenant;
  let person: Person;
  let tab: Tab;

  beforeAll(async () => {
    tenant = await createTenant(node);
    person = await member(node, tenant.org, 'viewer');
    tab = await openTab(browser(), node, { token: person.token });
  });
  afterAll(() => tab?.close());

  const shown = (text: string | RegExp) => tab.page.getByText(text).first().waitFor();

  it('says that too many are open, and goes on once there is a place', async () => {
    const feeds: Feed[] = [];
    for (let count = 0; count < PER_ACCOUNT; count++) {
      const feed = await openFeed(person, tenant.app);
      if (typeof feed !== 'number') feeds.push(feed);
    }
    expect(feeds).toHaveLength(PER_ACCOUNT);
    await visit(tab.page, `/console/apps/${tenant.app}/fleet`);
    await shown('Too many live feeds are open.');
    await Promise.all(feeds.map((feed) => feed.leave()));
    await tab.page.getByText('a second').first().waitFor({ timeout: 30_000 });
    expect(await tab.page.getByText('Too many live feeds').count()).toBe(0);
  });

  it('leads to the sign-in once the person signs out elsewhere', async () => {
    expect((await person.call('DELETE', 'sessions')).status).toBe(200);
    await tab.page.getByRole('button', { name: 'Sign in' }).waitFor({ timeout: 5000 });
    expect(await tab.complaints()).toEqual([]);
  });
});
