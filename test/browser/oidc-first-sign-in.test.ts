// Tests the first sign-in with a provider on a fresh service as people see it: both ways to set it up, the
// words for who has no role, and the first organization of who has the admin token.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { startOwnNode } from '../support/backend.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { randomId } from '../support/tenant.ts';

describeInBrowser('first sign-in with a provider at the console', (browser) => {
  let node: ServingNode;
  let provider: TestProvider;
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    const port = await freePort();
    provider = await startOidcProvider([`http://127.0.0.1:${port}`]);
    const roles = { admins: { organization: 'Acme', role: 'owner' } };
    const settings = { PORT: String(port), ADMIN_URL: `http://127.0.0.1:${port}` };
    node = await startOwnNode({ ...settings, ...provider.settings(roles) });
  });
  afterAll(async () => {
    await tab?.close();
    await Promise.all([node?.dispose(), provider?.stop()]);
  });

  async function open(theme: 'light' | 'dark' = 'light'): Promise<void> {
    await tab?.close();
    tab = await openTab(browser(), node, { theme });
    page = tab.page;
  }

  function arrives(groups: readonly string[] = []): void {
    const sub = randomId();
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: true, name: 'Olga', groups };
  }

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).first();

  it.each(['light', 'dark'] as const)('shows both ways, and why one failed (%s)', async (theme) => {
    await open(theme);
    await page.goto('/console/api/oidc/callback?state=other&code=other');
    await heading('Set up Sluice').waitFor();
    await page.getByText('This sign-in took too long, was used already').waitFor();
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    await page.getByLabel('Admin token').waitFor();
    expect(await faultsOn(page)).toEqual([]);
    provider.broken = 500;
    await press('Sign in with Example ID');
    await page.getByText('The sign-in provider cannot be reached').waitFor();
    provider.broken = undefined;
    expect(await tab.complaints()).toEqual([]);
  });

  it('asks who signs in first for the admin token, and makes them the owner', async () => {
    await open();
    arrives();
    await page.goto('/console');
    await press('Sign in with Example ID');
    await heading('No organization is here yet').waitFor();
    expect(await faultsOn(page)).toEqual([]);
    await page.getByLabel('Admin token').fill('not the token');
    await page.getByLabel('Organization').fill('Acme');
    await press('Create organization');
    await page.getByText('Not the admin token').waitFor();
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await press('Create organization');
    await heading('Apps').waitFor();
    expect(await tab.complaints()).toEqual([]);
  });

  it('tells who has no role afterwards how to get one, and lets the group in', async () => {
    await open();
    arrives();
    await page.goto('/console');
    await heading('Sign in').waitFor();
    await press('Sign in with Example ID');
    await heading('You are in no organization').waitFor();
    await page.getByText('a role to a group of yours at Example ID').waitFor();
    expect(await faultsOn(page)).toEqual([]);
    await open();
    arrives(['admins']);
    await page.goto('/console');
    await press('Sign in with Example ID');
    await heading('Apps').waitFor();
    expect(await tab.complaints()).toEqual([]);
  });
});
