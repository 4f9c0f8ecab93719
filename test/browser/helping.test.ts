// Tests what makes publishing and support quicker at the console: pasting, first steps, what a stranger's
// device would get, the sentence for a ticket, and the effect of a minimum version.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { toStep } from '../support/dialog-steps.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { sharedNode } from '../support/service-suite.ts';
import { publish, randomId, report, type Tenant } from '../support/tenant.ts';

describeInBrowser('quick ways at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant } = opened);
  });

  const place = (path = '') => `/console/apps/${tenant.app}${path}`;

  it('pasted addresses become artifacts, pasted JSON the release; what is neither says why', async () => {
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Publish release' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByText('Paste addresses or JSON').click();
    const area = dialog.getByLabel('Addresses of the files');
    const take = dialog.getByRole('button', { name: 'Use these files' });
    await area.fill('not an address');
    await take.click();
    await dialog.getByRole('alert').getByText('“not” is no http(s) address.').waitFor();
    await area.fill('https://x.example/App-3.0.0-arm64.dmg\nhttps://x.example/App-3.0.0-x64.exe');
    await take.click();
    await expect.poll(() => dialog.getByLabel('Platform').nth(1).inputValue()).toBe('windows');
    expect(await dialog.getByLabel('Architecture').nth(0).inputValue()).toBe('aarch64');
    await area.fill(JSON.stringify({ version: '3.0.0', rollout: 7, notes: 'From the build' }));
    await take.click();
    await expect
      .poll(() => dialog.getByLabel('Version', { exact: true }).inputValue())
      .toBe('3.0.0');
    await toStep(dialog, 'Review');
    await dialog.getByRole('button', { name: /^Publish/ }).click();
    await page.getByText('From the build').waitFor();
    await page.getByText('Published it at 7 % with 2 artifacts').waitFor();
  });

  it('the devices that a targeting is meant for are counted while it is written', async () => {
    const device = (deviceId: string, ring: string) => ({
      ...{ deviceId, version: '1.0.0', platform: 'linux', arch: 'x86_64', channel: 'stable' },
      labels: { ring },
    });
    await report(node, tenant, [device('a', 'early'), device('b', 'early'), device('c', 'late')]);
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Publish release' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByText('Paste addresses or JSON').click();
    const pasted = { version: '2.0.0', targets: { matchLabels: { ring: ['early'] } } };
    await dialog.getByLabel('Addresses of the files').fill(JSON.stringify(pasted));
    await dialog.getByRole('button', { name: 'Use these files' }).click();
    await expect
      .poll(() => dialog.getByLabel('Version', { exact: true }).inputValue())
      .toBe('2.0.0');
    await toStep(dialog, 'Who');
    await dialog.getByText('2 of 3 devices seen in the last 30 days match').waitFor();
    expect(await dialog.getByRole('link', { name: 'a', exact: true }).count()).toBe(1);
  });

  it('the first steps are ticked off, and their command asks as a device does', async () => {
    await visit(page, place('/stable'));
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('To do: Publish a release').waitFor();
    const line = await steps.getByText('curl').textContent();
    const url = /https?:\/\/\S+/.exec(line ?? '')?.[0] ?? '';
    const artifacts = [{ platform: 'darwin', url: 'https://x.example/a.zip' }];
    await publish(node, tenant, '1.0.0', { artifacts });
    await tab.soon(steps.getByText('Done: Publish a release'));
    const headers = { 'X-Service-Device': `first-${randomId()}` };
    const answer = await fetch(`${node.url}${new URL(url).pathname}`, { headers });
    expect(await answer.json()).toMatchObject({ version: '1.0.0' });
    await tab.soon(steps, 'detached');
  });

  it('an id that nobody has seen gets a form for what it would get', async () => {
    await publish(node, tenant, '2.0.0', { rollout: 0 });
    await publish(node, tenant, '1.5.0');
    const deviceId = `stranger-${randomId()}`;
    await visit(page, place(`/devices/${deviceId}`));
    await page.getByText('No device with this id is on record').waitFor();
    await page.getByLabel('Platform').fill('linux');
    await page.getByLabel('Architecture').fill('x86_64');
    await page.getByLabel('Version').fill('1.0.0');
    await page.keyboard.press('Enter');
    await page.locator('.decision-offer').getByText('1.5.0').waitFor();
    const considered = page.getByRole('list', { name: 'Releases considered' });
    expect((await considered.getByRole('listitem').allTextContents())[0]).toMatch(
      /^2\.0\.0not yet its turn: it stands at [\d.]+ %, the rollout at 0 %$/,
    );
  });

  it('a decision is one sentence to copy', async () => {
    await publish(node, tenant, '2.0.0');
    const deviceId = `pad-${randomId()}`;
    await report(node, tenant, [
      { deviceId, version: '1.0.0', platform: 'linux', arch: 'x86_64', channel: 'stable' },
    ]);
    await visit(page, place(`/devices/${deviceId}`));
    const who = `Device ${deviceId} (linux x86_64, channel stable)`;
    await page.getByText(`${who} runs 1.0.0 and gets 2.0.0 when it next asks.`).waitFor();
    await page.getByRole('button', { name: 'Copy sentence' }).click();
  });

  it('a minimum version says how many devices it tells that their update is required', async () => {
    const device = (deviceId: string, version: string) => ({
      ...{ deviceId, version, platform: 'linux', arch: 'x86_64', channel: 'stable' },
    });
    await report(node, tenant, [device('a', '1.0.0'), device('b', '1.9.0'), device('c', '1.10.0')]);
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Channel settings' }).click();
    await page.getByLabel('Minimum supported version').fill('1.10.0');
    await page.getByText('Of 3 devices on record for the channel, 2 run a version below').waitFor();
  });

  it('an app is renamed and archived, is out of the list and takes no release, and comes back', async () => {
    await publish(node, tenant, '1.0.0', { channel: 'beta' });
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Edit app…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit' });
    await dialog.getByLabel('Name', { exact: true }).fill('Pocket notes');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Pocket notes' }).waitFor();
    await page.getByRole('button', { name: 'Edit app…' }).click();
    await dialog.getByRole('button', { name: 'Archive it' }).click();
    await page.getByText('This app is archived').waitFor();
    expect(await page.getByRole('button', { name: 'Publish release' }).count()).toBe(0);
    expect(await page.getByText('POST /api/v1/releases').count()).toBe(0);
    expect(await page.getByRole('region', { name: 'First steps' }).count()).toBe(0);
    await visit(page, place('/beta/1.0.0'));
    await page.getByRole('button', { name: 'Pause…' }).waitFor();
    for (const name of ['Promote…', 'Publish next…']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    await visit(page, '/console/apps');
    expect(await page.getByRole('link', { name: 'Pocket notes' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show 1 archived app' }).click();
    await page.getByRole('link', { name: 'Pocket notes' }).click();
    await page.getByRole('button', { name: 'Edit app…' }).click();
    await dialog.getByRole('button', { name: 'Bring it back' }).click();
    await page.getByRole('button', { name: 'Publish release' }).waitFor();
    await visit(page, '/console/audit');
    expect((await page.locator('.audit-action').allTextContents()).slice(0, 3)).toEqual([
      ...[`brought ${tenant.app} back`, `archived ${tenant.app}`],
      `renamed ${tenant.app} from “Test app” to “Pocket notes”`,
    ]);
  });

  it('on paper there is what happened, and nothing to click', async () => {
    await publish(node, tenant, '1.0.0');
    await visit(page, place('/stable/1.0.0'));
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button', { name: 'Pause…' }).isVisible()).toBe(false);
    expect(await page.getByRole('navigation', { name: 'Console' }).isVisible()).toBe(false);
    expect(await page.getByText('published it at 100 % with one artifact').isVisible()).toBe(true);
  });
});
