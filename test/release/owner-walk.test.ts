// The way of an owner who gives the console to a team, with a real provider and real pages: sign in, map
// groups, ask for a second factor, protect a channel, publish by key, approve by phone, revoke.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { addAuthenticator, openTab, type Tab, type TabOptions, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { freePort } from '../support/free-port.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { check, createTenant, publish, type Tenant } from '../support/tenant.ts';

const PHONE: TabOptions = { width: 375, height: 720 };

describeInBrowser('an owner gives the console to a team', (browser) => {
  let node: ServingNode;
  /** The console at its public address, whose name passkeys are made for. */
  let console: { readonly url: string };
  let provider: TestProvider;
  let tenant: Tenant;
  const tabs: Tab[] = [];
  let owner: Page;

  beforeAll(async () => {
    const port = await freePort();
    console = { url: `http://localhost:${port}` };
    provider = await startOidcProvider([console.url]);
    const settings = { PORT: String(port), PUBLIC_URL: console.url, ...provider.settings() };
    node = await startNode(settings);
    await new Person(node).setUp('First');
    tenant = await createTenant(node);
    await node.stop();
    node = await node.restart(
      provider.settings({
        'release-owners': { organization: tenant.org, role: 'owner' },
        'release-team': { organization: tenant.org, role: 'publisher' },
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(tabs.map((tab) => tab.close()));
    await Promise.all([node?.dispose(), provider?.stop()]);
  });

  async function open(options: TabOptions = {}): Promise<Page> {
    const tab = await openTab(browser(), console, options);
    tabs.push(tab);
    return tab.page;
  }

  const press = (page: Page, name: string) =>
    page.getByRole('button', { name, exact: true }).click();
  const heading = (page: Page, name: string) =>
    page.getByRole('heading', { name, exact: true }).first();

  async function signInWithProvider(page: Page, sub: string, groups: readonly string[]) {
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: true, name: sub, groups };
    await page.goto('/console');
    await press(page, 'Sign in with Example ID');
  }

  /** Asks for a release by key, and returns the number of its request. */
  async function ask(version: string): Promise<string> {
    const { status, body } = await publish(node, tenant, version);
    expect(status).toBe(202);
    return String((body as { approval: { id: string } }).approval.id);
  }

  async function approveOn(page: Page, version: string): Promise<void> {
    await visit(page, '/console/approvals');
    const card = page.getByRole('region', {
      name: `Publish ${tenant.app} stable ${version}`,
    });
    expect(await faultsOn(page)).toEqual([]);
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('approved', { exact: true }).waitFor();
  }

  it('the owner signs in by group, asks for a second factor, and protects a channel', async () => {
    owner = await open();
    await signInWithProvider(owner, 'olga', ['release-owners']);
    await heading(owner, 'Apps').waitFor();

    await visit(owner, '/console/settings/organization');
    await press(owner, 'Ask for a second factor');
    await owner.getByRole('button', { name: 'Allow a password alone' }).waitFor();

    await visit(owner, `/console/apps/${tenant.app}/stable`);
    await press(owner, 'Channel settings');
    await owner.getByLabel('Approvals', { exact: true }).selectOption('one');
    await press(owner, 'Save');
    await owner.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('a release by the owner’s key waits, and the owner cannot approve it', async () => {
    await visit(owner, '/console/settings/keys');
    await press(owner, 'Create key');
    await owner.getByRole('dialog').getByLabel('Name').fill('build');
    await owner.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const secret = (await owner.locator('.secret-text').textContent()) ?? '';
    tenant = { ...tenant, secret };
    await press(owner, 'Done');

    await ask('1.0.0');
    expect((await check(node, tenant, '0.9.0')).status).toBe(204);
    await visit(owner, '/console/approvals');
    await press(owner, 'Approve');
    await owner.getByText('You made the key that asked for this').waitFor();
  });

  it('a member with a password adds a passkey on the phone, and approves it there', async () => {
    const { email } = await member(node, tenant.org, 'publisher', 'Pat');
    const phone = await open(PHONE);
    await addAuthenticator(phone);
    await phone.goto('/console/approvals');
    await phone.getByLabel('Email').fill(email);
    await phone.getByLabel('Password').fill(PASSWORD);
    await press(phone, 'Sign in');
    await phone.getByText('is open to you once you have signed in').waitFor();
    await press(phone, 'Add a passkey');
    await phone.getByRole('dialog').getByLabel('Name').fill('Phone');
    await press(phone, 'Continue');
    await heading(phone, 'Approvals').waitFor();
    await approveOn(phone, '1.0.0');
    expect((await check(node, tenant, '0.9.0')).body).toMatchObject({ version: '1.0.0' });
  });

  it('a member by group approves without a passkey, and is out with the group', async () => {
    await ask('1.1.0');
    const team = await open(PHONE);
    await signInWithProvider(team, 'tess', ['release-team']);
    await heading(team, 'Apps').waitFor();
    await approveOn(team, '1.1.0');
    expect((await check(node, tenant, '1.0.0')).body).toMatchObject({ version: '1.1.0' });
    await team.context().clearCookies();
    await signInWithProvider(team, 'tess', []);
    await team.getByText('You are in no organization').first().waitFor();
  });

  it('a revoked key asks for nothing any more, and what it asked for is off', async () => {
    const third = await ask('1.2.0');
    await visit(owner, '/console/settings/keys');
    await owner
      .getByRole('row', { name: /build/ })
      .getByRole('button', { name: /^Revoke/ })
      .click();
    await press(owner, 'Revoke key');
    await owner.getByText('Revoked').first().waitFor();
    expect((await publish(node, tenant, '1.3.0')).status).toBe(401);
    await visit(owner, `/console/approvals/${third}`);
    await owner.getByText('expired', { exact: true }).waitFor();
    expect(await faultsOn(owner)).toEqual([]);
    for (const tab of tabs) expect(await tab.complaints()).toEqual([]);
  });
});
