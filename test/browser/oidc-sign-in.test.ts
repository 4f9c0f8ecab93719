// Tests the sign-in with an OpenID Connect provider as a person sees it: the button, the page that was asked
// for, the proof of an account, the words for a refusal, and the way out.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { startOwnNode } from '../support/backend.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { freePort } from '../support/free-port.ts';
import type { ServingNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { member, PASSWORD } from '../support/person.ts';
import { createTenant, randomId, type Tenant } from '../support/tenant.ts';

describeInBrowser('sign-in with a provider at the console', (browser) => {
  let node: ServingNode;
  let provider: TestProvider;
  let tenant: Tenant;
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    const port = await freePort();
    provider = await startOidcProvider([`http://127.0.0.1:${port}`]);
    const settings = { PORT: String(port), ADMIN_URL: `http://127.0.0.1:${port}` };
    // By its name, which no other organization of this node has.
    const roles = { readers: { organization: 'Test', role: 'viewer' } };
    node = await startOwnNode({ ...settings, ...provider.settings(roles) });
    tenant = await createTenant(node);
    await member(node, tenant.org, 'owner');
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

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).first();

  function arrives(groups: readonly string[] = []): string {
    const sub = randomId();
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: true, name: 'Olga', groups };
    return email;
  }

  it('leads to the page that was asked for, with the role of the group, and out again', async () => {
    await open();
    arrives(['readers']);
    await page.goto(`/console/apps/${tenant.app}/fleet`);
    await heading('Sign in').waitFor();
    expect(await faultsOn(page)).toEqual([]);
    await press('Sign in with Example ID');
    await heading('Fleet').waitFor();
    await page.goto('/console/settings/account');
    await page.getByText('with Example ID, without a password').waitFor();
    const sessions = page.getByRole('table', { name: 'Sessions' });
    await sessions.getByRole('button', { name: /^Sign out/ }).click();
    await heading('Sign in').waitFor();
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    expect(await tab.complaints()).toEqual([]);
  });

  it.each(['light', 'dark'] as const)(
    'asks once whose the account is, and says why it refuses (%s)',
    async (theme) => {
      await open(theme);
      const email = arrives();
      const person = await member(node, tenant.org, 'viewer', 'A Person', email);
      await page.goto('/console/audit');
      await press('Sign in with Example ID');
      await heading('Is this account yours?').waitFor();
      expect(await faultsOn(page)).toEqual([]);
      await page.getByLabel('Password of the account').fill('not the password');
      await press('Join my account');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Password of the account').fill(PASSWORD);
      await press('Join my account');
      await heading('Audit').waitFor();
      expect(await person.elsewhere().signIn()).toMatchObject({ status: 200 });
      await tab.context.clearCookies();
      await page.goto('/console/api/oidc/callback?state=other&code=other');
      await page.getByText('This sign-in took too long, was used already').waitFor();
      expect(await faultsOn(page)).toEqual([]);
      expect(await tab.complaints()).toEqual([]);
    },
  );

  it('shows no form for passwords where they are off', async () => {
    await open();
    await page.route('**/console/api/session', async (route) => {
      const response = await route.fetch();
      const session = (await response.json()) as { signIn: object };
      const signIn = { ...session.signIn, password: false };
      await route.fulfill({ response, json: { ...session, signIn } });
    });
    await page.goto('/console');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    expect(await page.getByLabel('Password').count()).toBe(0);
    arrives(['readers']);
    await press('Sign in with Example ID');
    await heading('Apps').waitFor();
    expect(await tab.complaints()).toEqual([]);
  });
});
