// Tests that the console says what is so, and leads to what somebody looks for: the audit in its own words,
// one version on several channels, what is served, and the search.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { countPresses, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { enableWebhook } from '../support/github.ts';
import { openFeed } from '../support/live-feed.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import type { Person } from '../support/person.ts';
import { releasesOf } from '../support/published.ts';
import { sharedNode } from '../support/service-suite.ts';
import {
  ARTIFACT,
  admin,
  check,
  control,
  devicesOf,
  publish,
  randomId,
  report,
  type Tenant,
} from '../support/tenant.ts';

describeInBrowser('finding things at the console', (browser) => {
  const node = sharedNode();
  let page: Page;
  let tenant: Tenant;
  let owner: Person;
  eachOwnerTab(browser, node, (opened) => {
    ({ page, tenant, owner } = opened);
  });

  const place = (path = '') => `/console/apps/${tenant.app}${path}`;
  const devices = (count: number, version: string, more: Record<string, string> = {}) =>
    Array.from({ length: count }, (_, index) => ({
      deviceId: `${more.channel ?? 'stable'}-${version}-${index}`,
      ...{ version, platform: 'darwin', arch: 'aarch64', channel: 'stable', ...more },
    }));

  it('the audit is filtered by its own words and by days, and saved as CSV', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    await control(node, tenant, '1.0.0', { rollout: 25 });
    await control(node, tenant, '1.0.0', { status: 'paused' });
    await control(node, tenant, '1.0.0', { status: 'published' });
    await visit(page, '/console/audit');
    const shown = () => page.locator('.audit-action').allTextContents();
    const choose = async (label: string, expected: readonly string[]) => {
      await page.getByLabel('What was done').selectOption({ label });
      await expect.poll(shown).toEqual(expected);
    };
    const release = `${tenant.app}/stable@1.0.0`;
    const published = `published ${release} at 10 % with one artifact`;
    const raised = `raised the rollout of ${release} from 10 % to 25 %`;
    const [paused, resumed] = [`paused ${release}`, `resumed ${release}`];
    const time = await page.locator('.audit-entry time').first().textContent();
    // The browser is one of Great Britain: no AM and PM.
    expect(time).toMatch(/\d{2}:\d{2} (?:GMT[+-]\d|CES?T) · just now/);
    await choose('Raised a rollout', [raised]);
    await choose('Paused a release', [paused]);
    await choose('Resumed a release', [resumed]);
    await choose('Anything with releases', [resumed, paused, raised, published]);
    const [sentence] = await page.locator('.audit-head p').allTextContents();
    expect(sentence).toBe(`Key ci ${resumed}`);
    const day = (daysAhead: number) =>
      new Date(Date.now() + daysAhead * 86_400_000).toLocaleDateString('sv', {
        timeZone: 'Europe/Berlin',
      });
    await page.getByLabel('Until').fill(day(-1));
    await page.keyboard.press('Enter');
    await page.getByText('No change fits').waitFor();
    await page.getByLabel('Until').fill(day(0));
    await page.getByLabel('From').fill(day(0));
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => page.locator('.audit-action').count()).toBe(4);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe(
      '"at","actor","action","what","subject","reason","before","after","request"',
    );
    expect(lines[3]).toContain('"Raised the rollout from 10 % to 25 %"');
  });

  it('one version on several channels is a bar for each, and the page is for one channel when asked', async () => {
    await publish(node, tenant, '1.1.0');
    await publish(node, tenant, '1.1.0', { channel: 'beta' });
    await report(node, tenant, [
      ...devices(3, '1.1.0'),
      ...devices(2, '1.1.0', { channel: 'beta' }),
    ]);
    await visit(page, place('/fleet'));
    const bars = page.getByRole('list', { name: 'Devices by version' });
    await bars.getByRole('link', { name: '1.1.0 · stable' }).waitFor();
    expect(await bars.getByRole('listitem').allTextContents()).toEqual([
      '1.1.0 · stable3 · 60\u00a0%',
      '1.1.0 · beta2 · 40\u00a0%',
    ]);
    await page.getByLabel('Fleet of').selectOption('beta');
    await expect
      .poll(() => bars.getByRole('listitem').allTextContents())
      .toEqual(['1.1.02 · 100\u00a0%']);
    const total = page.locator('.figure', { hasText: 'On record' });
    await expect.poll(() => total.locator('.figure-value').textContent()).toBe('2');
  });

  it('the overview says what is served, and when the newest was rolled back', async () => {
    await publish(node, tenant, '1.0.0');
    await publish(node, tenant, '1.1.0');
    await control(node, tenant, '1.1.0', { status: 'rolled_back' });
    await visit(page, '/console/apps');
    const row = page.getByRole('row', { name: /^stable/ });
    const cells = await row.getByRole('cell').allTextContents();
    const texts = cells.map((text) => text.replaceAll(/\s+/g, ' ').trim());
    expect(texts).toEqual([
      ...['stable 2 releases', '1.1.0 Rolled back', '1.0.0', '–', '–', '–', 'just now'],
    ]);
  });

  it('a rolled-back release shows the way down, and each figure leads to its devices', async () => {
    const artifacts = [ARTIFACT, { platform: 'darwin', url: 'https://x.example/a.zip' }];
    await publish(node, tenant, '1.0.0', { artifacts });
    await publish(node, tenant, '1.1.0', { artifacts });
    await report(node, tenant, [...devices(4, '1.1.0'), ...devices(2, '1.0.0')]);
    await check(node, tenant, '1.0.0', { device: 'stable-1.0.0-0' });
    await eventually('the offer is on record', async () => {
      return (await devicesOf(node, tenant, 'offered=1.1.0')).length === 1;
    });
    await visit(page, place('/stable/1.1.0'));
    const figure = (label: string) => page.locator('.figure', { hasText: label });
    expect(await figure('Offered').locator('.figure-value').textContent()).toBe('1');
    expect(await figure('Offered').textContent()).toContain('latest just now');
    await figure('On an older version').locator('.figure-value a').click();
    const rows = page.getByRole('table', { name: 'Devices' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(3);
    await page.goBack();
    await page.getByRole('link', { name: '1 not on it yet' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('link', { name: 'stable-1.0.0-0' }).first().waitFor();
    await control(node, tenant, '1.1.0', { status: 'rolled_back' });
    await visit(page, place('/stable/1.1.0'));
    const way = page.getByRole('region', { name: 'The way down' });
    await way.getByText('4 devices run it. 4 go to another release, 0 stay.').waitFor();
    await way.getByText('darwin/aarch64: 4 → 1.0.0').waitFor();
    await way
      .getByText(/^1 device was offered it last, the latest .* may still install it/)
      .waitFor();
  });

  it('a rolled-back release that nobody runs tells of those that may still install it (U16)', async () => {
    await publish(node, tenant, '1.0.0');
    await publish(node, tenant, '1.1.0');
    for (const device of ['a', 'b']) await check(node, tenant, '1.0.0', { device });
    await eventually('the offers are on record', async () => {
      return (await devicesOf(node, tenant, 'offered=1.1.0')).length === 2;
    });
    await control(node, tenant, '1.1.0', { status: 'rolled_back' });
    await visit(page, place('/stable/1.1.0'));
    const way = page.getByRole('region', { name: 'The way down' });
    await way.getByText('No device is known to run it.').waitFor();
    await way
      .getByText(/^2 devices were offered it last, the latest just now, and may still install it/)
      .waitFor();
  });

  /** Lets the guard of a plan stop a release: its one device came to it, and went back. */
  async function stopByGuard(version: string): Promise<void> {
    const name = { app: tenant.app, channel: 'stable', version };
    const run = (each: string) => report(node, tenant, [{ ...devices(1, each)[0], deviceId: 'd' }]);
    const artifacts = [{ platform: 'darwin', url: 'https://x.example/a.zip' }];
    await run('0.9.0');
    await publish(node, tenant, version, { artifacts });
    const mac = { device: 'd', platform: 'darwin', arch: 'aarch64' };
    expect((await check(node, tenant, '0.9.0', mac)).status).toBe(200);
    await eventually('the offer is on record', async () => {
      return (await devicesOf(node, tenant, `offered=${version}`)).length === 1;
    });
    await run(version);
    await run('0.9.0');
    const guards = { minimumDevices: 1, knownForMinutes: 0, confirmMinutes: 0, revertedPercent: 5 };
    const plan = { ...name, steps: [{ rollout: 100, holdMinutes: 600 }], guards };
    expect((await admin(node, 'POST', 'releases/plan', plan)).status).toBe(200);
    await eventually(
      'the guard tripped',
      async () => (await releasesOf(node, tenant))[0]?.status === 'paused',
      150_000,
    );
  }

  it('the first page says why a guard stopped a rollout, and one click leads to what to do', async () => {
    await stopByGuard('2.0.0');
    await visit(page, '/console/apps');
    const cause = 'reverted: 1 of 1 devices, 100 %';
    const strip = page.getByRole('region', { name: 'Needs you' });
    await strip.getByText('Stopped by its guard').waitFor();
    await strip.getByText(cause).waitFor();
    const presses = await countPresses(page);
    await strip.getByRole('link', { name: /^Open/ }).click();
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await verdict.getByText(cause).waitFor();
    await verdict.getByText('Nothing happens by itself: roll it back, or resume it.').waitFor();
    await page.getByRole('button', { name: 'Roll back…' }).waitFor();
    expect(await presses()).toBe(1);
    // The history names the plan as who did it, and the reason.
    const history = page.getByRole('region', { name: 'History' });
    await history.getByText('Its plan', { exact: true }).first().waitFor();
    await history.getByText('was held', { exact: true }).waitFor();
  });

  it('four presses lead from the first page to why the devices of a customer get nothing', async () => {
    const artifacts = [{ platform: 'darwin', url: 'https://x.example/a.zip' }];
    await publish(node, tenant, '2.0.0', { artifacts, rollout: 0 });
    const labels = { customer: 'initech' };
    await report(node, tenant, [{ ...devices(1, '1.0.0')[0], labels }, ...devices(3, '1.1.0')]);
    await visit(page, '/console/apps');
    const presses = await countPresses(page);
    await page.getByRole('link', { name: 'Test app' }).click();
    await page.getByRole('link', { name: 'Devices', exact: true }).click();
    await page.getByLabel('Find devices').fill('customer=initech');
    await page.keyboard.press('Enter');
    const table = page.getByRole('table', { name: 'Devices' });
    await expect.poll(() => table.getByRole('row').count()).toBe(2);
    await table.getByRole('link', { name: 'stable-1.0.0-0' }).click();
    await page.getByText('The rollout has reached 0 %').first().waitFor();
    // Two links, the Enter of the search, and the device.
    expect(await presses()).toBe(4);
  });

  it('the search finds apps, releases and devices by the key /, and the keyboard opens them', async () => {
    await publish(node, tenant, '7.3.0');
    const deviceId = `finder-${randomId()}`;
    await report(node, tenant, [{ ...devices(1, '7.3.0')[0], deviceId }]);
    await visit(page, '/console/audit');
    await page.keyboard.press('/');
    const dialog = page.getByRole('dialog', { name: 'Search' });
    const found = dialog.getByRole('list', { name: 'Found' }).getByRole('link');
    await dialog.getByRole('textbox').fill('v7.3');
    await expect.poll(() => found.allTextContents()).toEqual([expect.stringContaining('7.3.0')]);
    await dialog.getByRole('textbox').fill(deviceId.slice(0, 12));
    await expect.poll(() => found.allTextContents()).toEqual([expect.stringContaining(deviceId)]);
    await dialog.getByRole('textbox').fill(tenant.app);
    await expect.poll(() => found.allTextContents()).toEqual([expect.stringMatching(/^App/)]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'stable' }).waitFor();
    await page.keyboard.press('/');
    await dialog.getByRole('textbox').fill('nothing like this');
    await dialog.getByText('Nothing was found.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('twenty channels have six tabs and a menu; the open one is among them', async () => {
    for (let index = 1; index <= 18; index += 1) {
      await admin(node, 'POST', 'channels', { app: tenant.app, name: `lane-${index}` });
    }
    await visit(page, place('/lane-18'));
    const tabs = page.getByRole('navigation', { name: 'Channels and fleet' });
    expect(await tabs.getByRole('link').allTextContents()).toEqual([
      ...['stable', 'beta', 'lane-1', 'lane-2', 'lane-3', 'lane-18'],
      ...['Fleet', 'Devices'],
    ]);
    await tabs.getByRole('button', { name: 'All 20 channels…' }).click();
    const menu = page.getByRole('dialog', { name: 'Channels' });
    await menu.getByRole('textbox').fill('e-12');
    await menu.getByRole('link', { name: 'lane-12' }).click();
    await page.getByRole('heading', { name: 'lane-12' }).waitFor();
  });

  it('a long list of releases is filtered by version and status', async () => {
    for (let index = 0; index < 27; index += 1) await publish(node, tenant, `2.${index}.0`);
    await control(node, tenant, '2.3.0', { status: 'paused' });
    await visit(page, place('/stable'));
    await page.getByLabel('Version begins with').fill('2.1');
    await page.keyboard.press('Enter');
    const rows = page.getByRole('table', { name: 'Releases' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(12);
    await page.getByLabel('Version begins with').fill('');
    await page.getByLabel('Status').selectOption('paused');
    await expect.poll(() => rows.count()).toBe(2);
  });

  it('all webhooks come with one request, and an app gets its first one by choice', async () => {
    await enableWebhook(node, tenant);
    const other = `app-${randomId()}`;
    await admin(node, 'POST', 'apps', { org: tenant.org, ref: other, name: 'Another' });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await visit(page, '/console/settings/webhooks');
    await page.getByRole('heading', { name: 'Test app' }).waitFor();
    expect(asked.filter((path) => path.includes('webhooks/'))).toHaveLength(1);
    expect(await page.getByRole('heading', { name: 'Another' }).count()).toBe(0);
    await page.getByLabel('Enable a webhook for').selectOption(other);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Enable' }).click();
    await dialog
      .getByRole('button', { name: 'I have copied' })
      .or(dialog.getByRole('button', { name: 'Done' }))
      .first()
      .click();
    await page.getByRole('heading', { name: 'Another' }).waitFor();
  });

  it('the live feed begins with the latest check-ins', async () => {
    const deviceId = `live-${randomId()}`;
    const feed = await openFeed(owner, tenant.app);
    if (typeof feed === 'number') throw new Error(`no feed: ${feed}`);
    await report(node, tenant, [{ ...devices(1, '1.0.0')[0], deviceId }]);
    // Who opens it from now on is not told of the check-in any more.
    await eventually('it was told', () => feed.events.length > 0);
    await feed.leave();
    await visit(page, place('/fleet'));
    const live = page.getByRole('region', { name: 'Live' });
    await live.getByRole('link', { name: deviceId }).waitFor();
  });

  it('a version keeps its color when a newer one comes', async () => {
    const colors = () =>
      page
        .locator('.legend li')
        .evaluateAll((rows) =>
          rows.map((row) => [
            row.querySelector('.code')?.textContent,
            (row.querySelector('.swatch') as HTMLElement).style.background,
          ]),
        );
    await report(node, tenant, [...devices(3, '1.0.0'), ...devices(2, '1.1.0')]);
    await visit(page, place('/fleet'));
    await expect.poll(async () => (await colors()).length).toBe(2);
    const before = Object.fromEntries(await colors());
    await report(node, tenant, devices(4, '1.2.0'));
    await visit(page, place('/fleet'));
    await expect.poll(async () => (await colors()).length).toBe(3);
    const after = Object.fromEntries(await colors());
    expect(after).toMatchObject(before);
    // Also beside others: on a channel that one of them alone is on, and with a newer one there.
    await report(node, tenant, devices(2, '1.1.0', { channel: 'beta' }));
    await report(node, tenant, devices(3, '1.3.0', { channel: 'beta' }));
    await visit(page, place('/fleet?channel=beta'));
    await expect.poll(async () => (await colors()).length).toBe(2);
    const { '1.1.0': shared } = Object.fromEntries(await colors());
    expect(shared).toBe(after['1.1.0']);
  });
});
