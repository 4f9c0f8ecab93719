// The sign-in with an OpenID Connect provider as people see it: on a fresh service, with an account of
// before, with the role of a group, and the words for a refusal.

import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { startOwnNode } from '../support/backend.ts';
import { describeInBrowser, openTab, type Tab } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { endWithSuite } from '../support/own.ts';
import { member, PASSWORD } from '../support/person.ts';
import { createTenant, randomId, type Tenant } from '../support/tenant.ts';

const SIGN_IN = 'Sign in with Example ID';
const STALE = '/console/api/oidc/callback?state=other&code=other';

describeInBrowser('sign-in with a provider at the console', (browser) => {
  let node: ServingNode;
  let provider: TestProvider;
  let tab: Tab;
  let page: Page;
  let at: Tab['at'];
  let tenant: Tenant;
  beforeAll(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    provider = await startOidcProvider([url]);
    // By its name, which no other organization of this node has.
    const roles = { readers: { organization: 'Test', role: 'viewer' } };
    const settings = { PORT: String(port), ADMIN_URL: url, ...provider.settings(roles) };
    node = await startOwnNode(settings);
  });
  endWithSuite(() => [tab, node, provider]);

  /** Opens a new window at a page. */
  async function open(path = '/console'): Promise<void> {
    await tab?.close();
    tab = await openTab(browser(), node);
    ({ at, page } = tab);
    await page.goto(path);
  }

  /** Sets who arrives from the provider; returns the email. */
  function arrives(groups: readonly string[] = []): string {
    const sub = randomId();
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: true, name: 'Olga', groups };
    return email;
  }

  const shows = (heading: string) => at.heading(heading).first().waitFor();
  const expectSound = async () => expect(await faultsOn(page)).toEqual([]);

  it('a fresh service shows both ways to set it up, and makes who has the admin token the owner', async () => {
    await open(STALE);
    await shows('Set up Sluice');
    await at.reads('This sign-in took too long, was used already');
    await at.button(SIGN_IN).waitFor();
    await at.field('Admin token').waitFor();
    provider.broken = 500;
    await at.press(SIGN_IN);
    await at.reads('The sign-in provider cannot be reached');
    provider.broken = undefined;
    expect(await tab.complaints()).toEqual([]);
    await open();
    arrives();
    await at.press(SIGN_IN);
    await shows('No organization is here yet');
    await expectSound();
    await at.fill({ 'Admin token': 'not the token', Organization: 'Acme' });
    await at.press('Create organization');
    await at.reads('Not the admin token');
    await at.fill('Admin token', ADMIN_TOKEN);
    await at.press('Create organization');
    await shows('Apps');
    expect(await tab.complaints()).toEqual([]);
  });

  it('who has no role learns how to get one, and the group of one leads to the page that was asked for', async () => {
    tenant = await createTenant(node);
    await open();
    arrives();
    await shows('Sign in');
    await at.press(SIGN_IN);
    await shows('You are in no organization');
    await at.reads('a role to a group of yours at Example ID');
    await expectSound();
    await open(`/console/apps/${tenant.app}/fleet`);
    arrives(['readers']);
    await shows('Sign in');
    await at.press(SIGN_IN);
    await shows('Fleet');
    await page.goto('/console/settings/account');
    await at.reads('with Example ID, without a password');
    await at.table('Sessions').press(/^Sign out/);
    await shows('Sign in');
    expect(await tab.complaints()).toEqual([]);
  });

  it('an account of before is asked for once', async () => {
    await open('/console/audit');
    const person = await member(node, tenant.org, 'viewer', 'A Person', arrives());
    await at.press(SIGN_IN);
    await shows('Is this account yours?');
    await expectSound();
    await at.fill('Password of the account', 'not the password');
    await at.press('Join my account');
    await page.getByRole('alert').waitFor();
    await at.fill('Password of the account', PASSWORD);
    await at.press('Join my account');
    await shows('Audit');
    expect(await person.elsewhere().signIn()).toMatchObject({ status: 200 });
    expect(await tab.complaints()).toEqual([]);
  });
});
