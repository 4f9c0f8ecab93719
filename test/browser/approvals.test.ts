// Approvals in the browser: each call that waits says so and leads to its request, the navigation counts
// what waits, and another member decides.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { chooseMore, openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { toStep } from '../support/dialog-steps.ts';
import { eachOwnerTab, type OwnerTab } from '../support/owner-tab.ts';
import { member } from '../support/person.ts';
import { type Json, releasesOf } from '../support/published.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin, control, publish } from '../support/tenant.ts';

const WAITS = 'Nothing is done yet: it waits for a second person.';
const ARTIFACTS = [{ platform: 'linux', arch: 'x86_64', url: 'https://dl.example.com/a.AppImage' }];
const RING = { matchLabels: { ring: ['early'] } };

describeInBrowser('approvals at the console', (browser) => {
  const node = sharedNode();
  let opened: OwnerTab;
  let page: Page;
  eachOwnerTab(browser, node, (tab) => {
    opened = tab;
    page = tab.page;
  });

  /** Releases in every state from which a call may widen, on a channel that then asks for approvals. */
  async function furnish(): Promise<void> {
    const { tenant } = opened;
    await publish(node, tenant, '1.0.0', { rollout: 10, artifacts: ARTIFACTS });
    await publish(node, tenant, '1.1.0', { targets: RING, artifacts: ARTIFACTS });
    await publish(node, tenant, '1.2.0', { artifacts: ARTIFACTS });
    await control(node, tenant, '1.2.0', { status: 'paused' });
    await publish(node, tenant, '2.0.0', { channel: 'beta', artifacts: ARTIFACTS });
    await admin(node, 'PATCH', 'channels', { app: tenant.app, name: 'stable', approvals: 'one' });
  }

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const fill = (label: string, text: string) =>
    page.getByRole('dialog').getByLabel(label, { exact: true }).fill(text);
  const waiting = (of: Page = page) =>
    of.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: /^Approvals/ });
  const countOn = async (tab: Pick<Tab, 'page' | 'soon'>, count: number) =>
    tab.soon(
      tab.page.getByRole('link', {
        name: count === 0 ? 'Approvals' : `Approvals ${count} waiting`,
      }),
    );

  it.each([
    [
      'Publish',
      'stable',
      async () => {
        await press('Publish release');
        await fill('Version', '9.0.0');
        await toStep(page.getByRole('dialog'), 'Review');
        await press('Publish');
      },
    ],
    [
      'Promote',
      'beta/2.0.0',
      async () => {
        await chooseMore(page, 'Promote…');
        await toStep(page.getByRole('dialog'), 'Review');
        await press('Promote to stable');
      },
    ],
    [
      'Change the serving of',
      'stable/1.0.0',
      async () => {
        await page.getByRole('button', { name: '50 %', exact: true }).click();
        await press('Raise to 50 %…');
        await press('Raise to 50 %');
      },
    ],
    [
      'Change the serving of',
      'stable/1.1.0',
      async () => {
        await press('Edit targeting');
        await press('Remove the label ring');
        await press('Save targeting');
      },
    ],
    [
      'Change the serving of',
      'stable/1.2.0',
      async () => {
        await press('Resume…');
        await press('Resume 1.2.0');
      },
    ],
    [
      'Plan the rollout of',
      'stable/1.0.0',
      async () => {
        await press('Plan the rollout…');
        await press('Start plan');
      },
    ],
    [
      'End the stop of',
      'stable',
      async () => {
        await press('Stop…');
        await press('Stop all of it');
        await press('Resume…');
        await press('Resume');
      },
    ],
    [
      'Change the settings of',
      'stable',
      async () => {
        await press('Channel settings');
        await page.getByLabel('Approvals', { exact: true }).selectOption('none');
        await press('Save');
      },
    ],
  ])('“%s”, asked for on %s, waits for a second person', async (deed, path, ask) => {
    await furnish();
    await visit(page, `/console/apps/${opened.tenant.app}/${path}`);
    await ask();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(WAITS).waitFor();
    // Sent again, it would be asked for twice; and nothing is left to discard.
    expect(await dialog.getByRole('button').allTextContents()).toEqual(['×', 'Done']);
    if (deed === 'Publish') expect(await faultsOn(page)).toEqual([]);
    await dialog.getByRole('link', { name: 'See the request' }).click();
    await page.getByRole('heading', { level: 2, name: new RegExp(`^${deed} `) }).waitFor();
    await page.getByText('You asked for it: another publisher or owner decides.').waitFor();
    await countOn(opened.tab, 1);
  });

  it('another member sees how many wait on every page, declines one with a reason and approves another', async () => {
    await furnish();
    const { tenant } = opened;
    for (const version of ['9.0.0', '9.1.0']) {
      expect((await publish(node, tenant, version, { artifacts: ARTIFACTS })).status).toBe(202);
    }
    const { token } = await member(node, tenant.org, 'publisher', 'Paula');
    const tab = await openTab(browser(), node, { token });
    await visit(tab.page, '/console/audit');
    await countOn(tab, 2);
    await waiting(tab.page).click();
    expect(await faultsOn(tab.page)).toEqual([]);
    const card = (version: string) =>
      tab.page.getByRole('region', { name: `Publish ${tenant.app} stable ${version}` });
    await card('9.0.0').getByText('It expires in 7 days').waitFor();
    await card('9.0.0').getByText('The call').click();
    expect(await faultsOn(tab.page)).toEqual([]);
    await card('9.0.0').getByLabel('Reason').fill('not on a Friday');
    await card('9.0.0').getByRole('button', { name: 'Decline' }).click();
    await card('9.0.0').getByText(': not on a Friday').waitFor();
    expect(await faultsOn(tab.page)).toEqual([]);
    await waiting(tab.page).click();
    await card('9.1.0').getByRole('button', { name: 'Approve' }).click();
    await card('9.1.0').getByText('approved', { exact: true }).waitFor();
    await countOn(tab, 0);
    const versions = (await releasesOf(node, tenant)).map(({ version }) => version);
    expect([versions.includes('9.0.0'), versions.includes('9.1.0')]).toEqual([false, true]);
    expect(await tab.complaints()).toEqual([]);
    await tab.close();
  });

  it('an approval that can no longer be carried out says why', async () => {
    await furnish();
    const { tenant } = opened;
    await control(node, tenant, '1.0.0', { rollout: 50 });
    await control(node, tenant, '1.0.0', { status: 'paused' });
    await visit(page, '/console/approvals');
    await press('Approve');
    await page.getByText('failed', { exact: true }).waitFor();
    await page
      .getByText(/^Decided by .*: stable 1\.0\.0 has changed since this was asked for/)
      .waitFor();
  });

  it('the channel says how long requests wait, and asks without an approval for more of them', async () => {
    await publish(node, opened.tenant, '1.0.0');
    await visit(page, `/console/apps/${opened.tenant.app}/stable`);
    await press('Channel settings');
    expect(await page.getByLabel('Days until a request expires').count()).toBe(0);
    await page.getByLabel('Approvals', { exact: true }).selectOption('one');
    await fill('Days until a request expires', '3');
    expect(await faultsOn(page)).toEqual([]);
    await press('Save');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { body } = await admin(node, 'GET', `channel?app=${opened.tenant.app}&channel=stable`);
    expect(body).toMatchObject({ approvals: 'one', approvalDays: 3 });
  });

  it('the settings, the page and the request name a channel without approvals that is followed', async () => {
    const { tenant } = opened;
    const set = (name: string, change: Json) =>
      admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });
    const beta = page.getByText(
      'beta asks for no approvals: what one person publishes there reaches the devices of stable.',
    );
    await set('stable', { follows: 'beta' });
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await press('Channel settings');
    expect(await beta.count()).toBe(0);
    await page.getByLabel('Approvals', { exact: true }).selectOption('one');
    await beta.waitFor();
    expect(await faultsOn(page)).toEqual([]);
    await press('Save');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await beta.waitFor();
    await visit(page, `/console/apps/${tenant.app}/beta`);
    const reached = /^stable asks for approvals and follows beta: what one person publishes here/;
    await page.getByText(reached).waitFor();
    await set('stable', { follows: null });
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await press('Channel settings');
    expect(await beta.count()).toBe(0);
    await page.getByLabel('Follows', { exact: true }).selectOption('beta');
    await beta.waitFor();
    await press('Save');
    await page.getByText(WAITS).waitFor();
    await page.getByRole('link', { name: 'See the request' }).click();
    await beta.waitFor();
    expect(await faultsOn(page)).toEqual([]);
  });

  it('the number is read now and then, and not while the page is hidden', async () => {
    await visit(page, '/console/settings/account');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const count = () => asked.filter((url) => url.includes('/approvals?')).length;
    await opened.tab.pass(25_000);
    expect(count()).toBe(0);
    await opened.tab.pass(6000);
    await expect.poll(count).toBe(1);
    await page.evaluate(
      "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })",
    );
    await opened.tab.pass(120_000);
    await page.evaluate("fetch('/console/api/session').then((answer) => answer.text())");
    expect(count()).toBe(1);
  });
});
