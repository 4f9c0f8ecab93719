// A new organization for each test of a suite, and its owner at the console in a real browser.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import { openTab, type Tab } from './browser.ts';
import { member, type Person } from './person.ts';
import { createTenant, type Tenant } from './tenant.ts';

export type OwnerTab = {
  readonly tab: Tab;
  readonly page: Page;
  readonly tenant: Tenant;
  readonly owner: Person;
};

/** Hands a new one to `use` before each test, and expects no complaint of the page after it. */
export function eachOwnerTab(
  browser: () => Browser,
  node: { readonly url: string },
  use: (opened: OwnerTab) => void,
): void {
  let tab: Tab | undefined;
  beforeEach(async () => {
    const tenant = await createTenant(node);
    const owner = await member(node, tenant.org, 'owner', 'Olga');
    await tab?.close();
    tab = await openTab(browser(), node, { token: owner.token });
    use({ tab, page: tab.page, tenant, owner });
  });
  afterEach(async () => {
    expect(await tab?.complaints()).toEqual([]);
  });
  afterAll(() => tab?.close());
}
