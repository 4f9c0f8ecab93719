// A new organization for each test of a suite, and its owner at the console in a real browser.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import { openTab, type Tab, visit } from './browser.ts';
import { Hands } from './hands.ts';
import { member, type Person } from './person.ts';
import { createTenant, type Tenant } from './tenant.ts';

export type OwnerTab = {
  readonly tab: Tab;
  readonly page: Page;
  readonly at: Hands<Page>;
  readonly tenant: Tenant;
  readonly owner: Person;
  /** Returns the address of a page of the app. */
  place(path?: string): string;
  /** Opens a page of the app. */
  open(path?: string): Promise<void>;
};

/** Makes a new one before each test, which the result returns; expects no complaint of the page after it. */
export function eachOwnerTab(
  browser: () => Browser,
  node: { readonly url: string },
): () => OwnerTab {
  let opened: OwnerTab | undefined;
  beforeEach(async () => {
    const tenant = await createTenant(node);
    const owner = await member(node, tenant.org, 'owner', 'Olga');
    await opened?.tab.close();
    const tab = await openTab(browser(), node, { token: owner.token });
    const { page } = tab;
    const place = (path = '') => `/console/apps/${tenant.app}${path}`;
    const open = (path = '') => visit(page, place(path));
    opened = { tab, page, at: new Hands(page), tenant, owner, place, open };
  });
  afterEach(async () => {
    expect(await opened?.tab.complaints()).toEqual([]);
  });
  afterAll(() => opened?.tab.close());
  return () => {
    if (opened === undefined) throw new Error('No test has begun');
    return opened;
  };
}
