// Tests passkeys in Chromium, with its virtual authenticator: adding one, signing in with it alone and after
// the password, a copy of it, removing it, and an organization that asks for it.

import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { startOwnNode } from '../support/backend.ts';
import { addAuthenticator, openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { freePort } from '../support/free-port.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

describeInBrowser('passkeys at the console', (browser) => {
  let serving: ServingNode;
  let node: { readonly url: string };
  let tenant: Tenant;
  let owner: Person;
  let tab: Tab;
  let page: Page;
  let devices: CDPSession;
  let authenticatorId: string;

  beforeAll(async () => {
    // Passkeys are made for a name, so the console needs an address before it is there.
    const port = await freePort();
    const url = `http://localhost:${port}`;
    serving = await startOwnNode({ PORT: String(port), PUBLIC_URL: url });
    node = { url };
    await new Person(node).setUp('First');
  });
  afterAll(() => serving?.dispose());

  beforeEach(async () => {
    tenant = await createTenant(node);
    owner = await member(node, tenant.org, 'owner', 'Olga');
    tab = await openTab(browser(), node, { token: owner.token });
    page = tab.page;
    ({ devices, authenticatorId } = await addAuthenticator(page));
    return async () => {
      expect(await tab.complaints()).toEqual([]);
      await tab.close();
    };
  });

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const heading = (name: string) => page.getByRole('heading', { name, exact: true });

  async function addPasskey(name: string): Promise<void> {
    await visit(page, '/console/settings/account');
    await button('Add a passkey').click();
    await page.getByRole('dialog').getByLabel('Name').fill(name);
    await button('Continue').click();
    await page.getByRole('table', { name: 'Passkeys' }).getByText(name).first().waitFor();
  }

  async function signOut(): Promise<void> {
    await tab.context.clearCookies();
    await visit(page, '/console/apps');
    await heading('Sign in').waitFor();
  }

  async function fillPassword(): Promise<void> {
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  it('one is added, named anew, signs in alone and after the password, and is removed', async () => {
    await addPasskey('My laptop');
    await button('Rename My laptop').click();
    await page.getByRole('dialog').getByLabel('Name').fill('Work laptop');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('table', { name: 'Passkeys' }).getByText('Work laptop').first().waitFor();
    await signOut();
    await button('Sign in with a passkey').click();
    await heading('Apps').waitFor();
    await visit(page, '/console/settings/account');
    const sessions = page.getByRole('table', { name: 'Sessions' });
    await sessions.getByText('Chrome on Linux').first().waitFor();
    expect(await sessions.getByText('Passkey', { exact: true }).count()).toBeGreaterThan(0);
    await signOut();
    await fillPassword();
    await heading('Apps').waitFor();
    await visit(page, '/console/settings/account');
    await button('Remove Work laptop').click();
    await button('Remove passkey').click();
    await page.getByText('No passkeys yet').waitFor();
    await signOut();
    await fillPassword();
    await heading('Apps').waitFor();
  });

  it('a copy whose counter went back is refused, with words', async () => {
    await addPasskey('Copied');
    const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    if (credential === undefined) throw new Error('no credential');
    await signOut();
    await button('Sign in with a passkey').click();
    await heading('Apps').waitFor();
    const { credentialId } = credential;
    await devices.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await devices.send('WebAuthn.addCredential', { authenticatorId, credential });
    await signOut();
    await button('Sign in with a passkey').click();
    await page.getByRole('alert').getByText('This passkey was not accepted').waitFor();
  });

  it('a person who gives up is told so, and may try again', async () => {
    await devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await signOut();
    await button('Sign in with a passkey').click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
  });

  it('an organization asks for them, and its pages say how to add one', async () => {
    await addPasskey('Owner');
    await visit(page, '/console/settings/organization');
    await button('Ask for a second factor').click();
    await button('Allow a password alone').waitFor();
    const weak = await member(node, tenant.org, 'viewer', 'Vera');
    const other = await openTab(browser(), node, { token: weak.token });
    await visit(other.page, '/console/apps');
    await other.page.getByText('is open to you once you have signed in').waitFor();
    expect(await faultsOn(other.page)).toEqual([]);
    await addAuthenticator(other.page);
    await other.page.getByRole('button', { name: 'Add a passkey' }).click();
    await other.page.getByRole('dialog').getByLabel('Name').fill('Phone');
    await other.page.getByRole('button', { name: 'Continue' }).click();
    await other.page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
    expect(await other.complaints()).toEqual([]);
    await other.close();
  });

  it('a member who lost them gets a link of an owner, and gets rid of them with the password', async () => {
    await addPasskey('Lost');
    await visit(page, '/console/settings/members');
    await button('Lost passkeys of Olga').click();
    await button('Make a link').click();
    const link = (await page.locator('.secret-text').textContent()) ?? '';
    await page.getByRole('button', { name: 'Done' }).click();
    await signOut();
    await page.goto(link);
    await page.getByText(owner.email).waitFor();
    expect(await faultsOn(page)).toEqual([]);
    await page.getByLabel('Password').fill(PASSWORD);
    await button('Remove my passkeys').click();
    await page.getByText('No passkeys yet').waitFor();
  });

  it('the pages are accessible, in both themes and widths', async () => {
    await addPasskey('A passkey with a name');
    for (const path of ['settings/account', 'settings/organization', 'settings/members']) {
      await visit(page, `/console/${path}`);
      expect(await faultsOn(page), path).toEqual([]);
    }
    await signOut();
    expect(await faultsOn(page), 'sign-in').toEqual([]);
  });
});
