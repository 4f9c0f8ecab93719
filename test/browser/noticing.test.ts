// Tests that the console says what has happened, and what is wrong, to everybody who has to know.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { member, type Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { check, control, devicesOf, publish, report, type Tenant } from '../support/tenant.ts';

/** Milliseconds between two reads of `/readyz`. */
const DEGRADED_MS = 15_000;

describeInBrowser('what the console says', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  let owner: Person;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant, owner } = opened);
  });

  const place = (path = '') => `/console/apps/${tenant.app}${path}`;

  it('the overview begins with what needs a person, and leads there', async () => {
    await visit(page, '/console/apps');
    await page.getByText('Nothing needs you').waitFor();
    await publish(node, tenant, '1.0.0', { artifacts: [] });
    const strip = page.getByRole('region', { name: 'Needs you' });
    await tab.soon(strip);
    await strip.getByText('It is published without a file that a device could install.').waitFor();
    await strip.getByRole('link', { name: `Open ${tenant.app}/stable 1.0.0` }).click();
    await page.getByRole('heading', { name: '1.0.0' }).waitFor();
    await control(node, tenant, '1.0.0', { status: 'paused' });
    await visit(page, '/console/apps');
    await page.getByText('Nothing needs you').waitFor();
    expect(page.url()).not.toContain(place());
  });

  it('a store that is away or refuses writes is said on every page, until it is not', async () => {
    const message =
      'PostgreSQL refuses writes: it is read-only, or a standby: nothing can be changed';
    const degraded = [{ store: 'ledger', since: '2026-02-03T04:05:06.789Z', message }];
    await page.route('**/readyz', (route) =>
      route.fulfill({ json: { status: 'ready', degraded } }),
    );
    await visit(page, '/console/audit');
    await page.getByRole('status').getByText(message).waitFor();
    await page.unroute('**/readyz');
    await tab.pass(DEGRADED_MS);
    await tab.soon(page.getByText(message), 'detached');
  });

  const device = (deviceId: string, parts: object = {}) => ({
    ...{ deviceId, version: '1.0.0', platform: 'linux', arch: 'x86_64', channel: 'stable' },
    ...parts,
  });
  const said = () => page.locator('#said').textContent();
  const isFocused = (name: string) =>
    page.getByRole('heading', { name }).and(page.locator(':focus')).waitFor();

  it('one search finds devices by part of an id, version, label and channel, counts and saves them', async () => {
    await report(node, tenant, [
      device('0001e032-a'),
      device('b-0001E032', { labels: { ring: 'early' } }),
      device('c', { version: '2.0.0' }),
    ]);
    await visit(page, place('/fleet/devices'));
    const line = page.getByLabel('Find devices');
    const rows = page.getByRole('table', { name: 'Devices' }).getByRole('row');
    const find = async (text: string, count: number) => {
      await line.fill(text);
      await page.keyboard.press('Enter');
      await page
        .getByText(count === 1 ? '1 device' : `${count} devices`, { exact: true })
        .waitFor();
      await expect.poll(() => rows.count()).toBe(count + 1);
    };
    await page.getByText('3 devices', { exact: true }).waitFor();
    await find('0001e032-', 1);
    await find('e032', 2);
    await find('ring=early', 1);
    const asked = page.getByRole('list', { name: 'What is asked for' }).getByRole('listitem');
    await expect.poll(() => asked.count()).toBe(2);
    await page.getByRole('button', { name: 'Remove id e032' }).click();
    await page.getByRole('button', { name: 'Remove label ring=early' }).click();
    await find('2.0.0', 1);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^"c","2\.0\.0","stable","linux","x86_64"/);
    // A link to the list as it was before leads to it.
    await visit(page, place('/fleet?version=2.0.0#devices'));
    await page.getByRole('button', { name: 'Remove version 2.0.0' }).waitFor();
  });

  it('a list of ids is answered with what each gets, and why not more', async () => {
    await publish(node, tenant, '2.0.0', { rollout: 0 });
    await report(node, tenant, [device('a'), device('b', { version: '2.0.0' })]);
    await visit(page, place('/fleet/devices'));
    await page.getByRole('button', { name: 'Why not…' }).click();
    await page.getByLabel('Ids of devices').fill('a\nb, nobody');
    await page.getByRole('button', { name: 'Show' }).click();
    const table = page.getByRole('table', { name: 'What each device would get now' });
    await table.getByRole('row', { name: /^a 1\.0\.0 nothing 2\.0\.0: / }).waitFor();
    await table.getByText('No newer release is being offered on its channel.').waitFor();
    await table.getByText('No device with this id is on record.').waitFor();
  });

  it('a device that failed is not called up to date, and its page says why', async () => {
    await report(node, tenant, [device('a')]);
    await publish(node, tenant, '2.0.0');
    await check(node, tenant, '1.0.0', { device: 'a' });
    await eventually('the offer is on record', async () => {
      return (await devicesOf(node, tenant, 'offered=2.0.0')).length === 1;
    });
    const failed = { version: '2.0.0', reason: 'Installer exited with code 1603' };
    await report(node, tenant, [device('a', { failed })]);
    await control(node, tenant, '2.0.0', { status: 'paused' });
    await visit(page, place('/devices/a'));
    await page.getByText('2.0.0 is newer, but is paused, so it is not offered.').first().waitFor();
    await page.getByText('Failed to install 2.0.0', { exact: true }).waitFor();
    await page
      .getByText('It failed to install 2.0.0: “Installer exited with code 1603”.')
      .first()
      .waitFor();
    await page.getByText('Was offered 2.0.0 (stable)').waitFor();
    await expect.poll(() => page.getByText('up to date').count()).toBe(0);
  });

  it('a new page gets the focus on its heading, and an act is announced', async () => {
    await publish(node, tenant, '1.0.0');
    await visit(page, '/console/apps');
    await page.getByRole('link', { name: 'stable' }).first().click();
    await isFocused('stable');
    await page.getByRole('link', { name: '1.0.0' }).first().click();
    await isFocused('1.0.0');
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('dialog').locator('button[type="submit"]').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(said).toMatch(/: done\.$/);
    await page.getByRole('button', { name: 'Resume…' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).not.toBe('BODY');
  });

  it('what another person does is said with who did it', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    const paul = await member(node, tenant.org, 'publisher', 'Paul');
    await visit(page, place('/stable/1.0.0'));
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await paul.call('PATCH', 'releases', { ...name, rollout: 20 });
    const notice = page.getByRole('status').filter({ hasText: paul.email });
    await tab.soon(notice.getByText('from 10 % to 20 %'));
    expect(await said()).toContain(`${paul.email}: Raised`);
  });

  it('a role that is taken away is said, also with a dialog open', async () => {
    const other = await member(node, tenant.org, 'owner', 'Other');
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Publish release' }).click();
    await other.call('PATCH', 'members', {
      org: tenant.org,
      account: owner.accountId,
      role: 'viewer',
    });
    await tab.soon(page.getByRole('alert').getByText(/^You are a viewer of .* now\./));
    await other.call('DELETE', 'members', { org: tenant.org, account: owner.accountId });
    await tab.soon(page.getByText('You are in no organization'));
  });

  it('the question about what was filled in is in sight in a long dialog, and Cancel asks it too', async () => {
    await visit(page, place('/stable'));
    await page.getByRole('button', { name: 'Publish release' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByLabel('Version').fill('9.0.0');
    await page.setViewportSize({ width: 1280, height: 360 });
    const question = dialog.getByRole('alert').getByText('Discard what you entered?');
    for (const leave of ['Cancel', 'Close']) {
      await dialog.getByRole('button', { name: leave, exact: true }).click();
      await question.waitFor();
      const isOnTop = await question.evaluate((element) => {
        const { left, top } = element.getBoundingClientRect();
        return element.contains(element.ownerDocument.elementFromPoint(left + 4, top + 4));
      });
      expect(isOnTop, leave).toBe(true);
      await dialog.getByRole('button', { name: 'Keep editing' }).click();
    }
  });

  it('a new key may publish alone and ends, and the field of its apps is wide', async () => {
    await visit(page, '/console/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a key' });
    const checked = dialog.getByRole('checkbox', { checked: true });
    await expect.poll(() => checked.count()).toBe(1);
    await dialog.getByLabel('publish, promote and withdraw').and(checked).waitFor();
    expect(await dialog.getByLabel('Ends').inputValue()).toBe('365');
    const width = await dialog.getByLabel('Add an app').evaluate((field) => field.clientWidth);
    expect(width).toBeGreaterThan(240);
  });

  it('pages beyond the end, and filters that cannot be read, are told', async () => {
    await publish(node, tenant, '1.0.0');
    await visit(page, place('/stable?page=999'));
    await page.getByText('There is no page 999').waitFor();
    await page.getByRole('link', { name: 'To the last page' }).click();
    await page.getByRole('link', { name: '1.0.0' }).waitFor();
    await visit(page, '/console/audit?from=garbage');
    await page.getByText('“garbage” is no day like 2026-01-31').waitFor();
    await visit(page, '/console/audit?before=zzz');
    await page.getByText(/before: Must be/).waitFor();
  });

  it('the answer about a device that nobody has seen goes with its question', async () => {
    await publish(node, tenant, '2.0.0');
    await visit(page, place('/devices/stranger'));
    await page.getByLabel('Platform').fill('linux');
    await page.getByLabel('Version').fill('1.0.0');
    await page.keyboard.press('Enter');
    await page.locator('.decision-offer').waitFor();
    await page.getByLabel('Version').fill('garbage');
    await expect.poll(() => page.locator('.decision-offer').count()).toBe(0);
  });

  it('a browser that keeps nothing shows the console all the same', async () => {
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get: () => { throw new DOMException('denied', 'SecurityError'); }
    })`);
    await visit(page, '/console/apps');
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
  });

  it('too many wrong passwords say how long to wait', async () => {
    await page.context().clearCookies();
    await page.route('**/console/api/session', async (route) => {
      if (route.request().method() === 'GET') return route.continue();
      const headers = { 'Retry-After': '898' };
      await route.fulfill({ status: 429, headers, json: { error: 'Rate limit exceeded' } });
    });
    await visit(page, '/console/apps');
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Try again in 15 minutes.').waitFor();
    await page.getByLabel('Password').and(page.locator(':focus')).waitFor();
  });

  it('the help explains the signals, and ? shows the keys', async () => {
    await visit(page, '/console/help#stuck');
    await page.getByText('checked in again after the limit of time').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Show these keys').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('summary[aria-label="Help"]').click();
    await page.getByRole('link', { name: 'Terms and signals' }).waitFor();
  });
});
