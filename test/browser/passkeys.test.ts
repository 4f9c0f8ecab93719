// Passkeys in Chromium, with its virtual authenticator: adding one, signing in with it alone and after the
// password, a copy of it, removing it, and an organization that asks for it.

import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { startOwnNode } from '../support/backend.ts';
import {
  addAuthenticator,
  describeInBrowser,
  openTab,
  type Tab,
  visit,
} from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const ACCOUNT = '/console/settings/account';

describeInBrowser('passkeys at the console', (browser) => {
  let serving: ServingNode;
  let node: { readonly url: string };
  let tenant: Tenant;
  let owner: Person;
  let tab: Tab;
  let page: Page;
  let at: Tab['at'];
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
    ({ at, page } = tab);
    ({ devices, authenticatorId } = await addAuthenticator(page));
    return async () => {
      expect(await tab.complaints()).toEqual([]);
      await tab.close();
    };
  });

  async function addPasskey(name: string): Promise<void> {
    await visit(page, ACCOUNT);
    await at.press('Add a passkey');
    await at.dialog().fill('Name', name);
    await at.press('Continue');
    await at.table('Passkeys').finds(name);
  }

  async function signOut(): Promise<void> {
    await tab.context.clearCookies();
    await visit(page, '/console/apps');
    await at.heading('Sign in').waitFor();
  }

  async function signIn(): Promise<void> {
    await at.press('Sign in with a passkey');
    await at.heading('Apps').waitFor();
  }

  async function signInByPassword(): Promise<void> {
    await at.fill({ Email: owner.email, Password: PASSWORD });
    await at.press('Sign in');
    await at.heading('Apps').waitFor();
  }

  it('one is added, named anew and signs in; a copy is refused', async () => {
    await addPasskey('My laptop');
    await at.press('Rename My laptop');
    await at.dialog().fill('Name', 'Work laptop');
    await at.dialog().press('Rename');
    await at.table('Passkeys').finds('Work laptop');
    const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    if (credential === undefined) throw new Error('no credential');
    await signOut();
    // A person who gives up is told so, and may try again.
    const verified = (isUserVerified: boolean) =>
      devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    await verified(false);
    await at.press('Sign in with a passkey');
    await at.warns('No passkey was used');
    await verified(true);
    await signIn();
    // Its counter goes back, as that of a copy would.
    const { credentialId } = credential;
    await devices.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await devices.send('WebAuthn.addCredential', { authenticatorId, credential });
    await signOut();
    await at.press('Sign in with a passkey');
    await at.warns('This passkey was not accepted');
  });

  it('one is asked for after the password, by an organization, and a password is enough once it is removed', async () => {
    await addPasskey('A passkey with a name');
    for (const path of [ACCOUNT, '/console/settings/members']) {
      await visit(page, path);
      expect(await faultsOn(page), path).toEqual([]);
    }
    await visit(page, '/console/settings/organization');
    await at.press('Ask for a second factor');
    await at.button('Allow a password alone').waitFor();
    const weak = await member(node, tenant.org, 'viewer', 'Vera');
    const other = await openTab(browser(), node, { token: weak.token });
    const { at: there } = other;
    await visit(other.page, '/console/apps');
    await there.reads('is open to you once you have signed in');
    await addAuthenticator(other.page);
    await there.press('Add a passkey');
    await there.dialog().fill('Name', 'Phone');
    await there.press('Continue');
    await there.heading('Apps').waitFor();
    expect(await other.complaints()).toEqual([]);
    await other.close();

    await at.press('Allow a password alone');
    await at.button('Ask for a second factor').waitFor();
    await signOut();
    await signInByPassword();
    await visit(page, ACCOUNT);
    await at.press('Remove A passkey with a name', 'Remove passkey');
    await at.reads('No passkeys yet');
    await signOut();
    await signInByPassword();
  });

  it('a member who lost them gets a link of an owner, and gets rid of them with the password', async () => {
    await addPasskey('Lost');
    await visit(page, '/console/settings/members');
    await at.press('Lost passkeys of Olga', 'Make a link');
    const link = (await page.locator('.secret-text').textContent()) ?? '';
    await at.press('Done');
    await signOut();
    await page.goto(link);
    await at.reads(owner.email);
    await at.fill('Password', PASSWORD);
    await at.press('Remove my passkeys');
    await at.reads('No passkeys yet');
  });
});
