// The console leads to what somebody looks for: in the audit, the fleet, its devices and releases, by the
// search and by the figures.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { countPresses, describeOwnerTab, visit } from '../support/browser.ts';
import { machine, machines, untilOffered } from '../support/fleet-of.ts';
import { ARTIFACT, admin, randomId } from '../support/tenant.ts';

const FOR_MAC = { platform: 'darwin', url: 'https://x.example/a.zip' };

/** Saves the page's list as CSV; returns its lines. */
async function saved(page: Page): Promise<string[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as CSV' }).click(),
  ]);
  const text = readFileSync(await download.path(), 'utf8');
  return text.trimEnd().split('\r\n');
}

describeOwnerTab('finding things at the console', (opened, node) => {
  it('the audit is filtered by its own words and by days, saved as CSV, and leads to what it is about', async () => {
    const { at, page, tenant, place } = opened();
    await tenant.publish('1.0.0', { rollout: 10 });
    await tenant.control('1.0.0', { rollout: 25 });
    await tenant.control('1.0.0', { status: 'paused' });
    await tenant.control('1.0.0', { status: 'published' });
    await visit(page, '/console/audit');
    const shown = () => page.locator('.audit-action').allTextContents();
    const choose = async (label: string, expected: readonly string[]) => {
      await at.choose('What was done', { label });
      await expect.poll(shown).toEqual(expected);
    };
    const release = `${tenant.app}/stable@1.0.0`;
    const published = `published ${release} at 10 % with one artifact`;
    const raised = `raised the rollout of ${release} from 10 % to 25 %`;
    const [paused, resumed] = [`paused ${release}`, `resumed ${release}`];
    await choose('Raised a rollout', [raised]);
    await choose('Anything with releases', [resumed, paused, raised, published]);
    const [sentence] = await page.locator('.audit-head p').allTextContents();
    expect(sentence).toBe(`Key ci ${resumed}`);
    const day = (daysAhead: number) =>
      new Date(Date.now() + daysAhead * 86_400_000).toLocaleDateString('sv', {
        timeZone: 'Europe/Berlin',
      });
    await at.enter('Until', day(-1));
    await at.reads('No change fits');
    await at.fill({ Until: day(0), From: day(0) });
    await at.press('Filter');
    await expect.poll(() => page.locator('.audit-action').count()).toBe(4);
    const lines = await saved(page);
    expect(lines).toHaveLength(5);
    expect(lines[3]).toContain('"Raised the rollout from 10 % to 25 %"');
    await at.link(release).first().click();
    await page.waitForURL(`**${place('/stable/1.0.0')}`);
    await visit(page, '/console/audit?from=garbage');
    await at.reads('“garbage” is no day like 2026-01-31');
  });

  it('one search finds devices by id, version and label, counts and saves them, and says why they get nothing', async () => {
    const { at, page, tenant } = opened();
    await tenant.publish('3.0.0', { rollout: 0 });
    await tenant
      .at(node)
      .report([
        machine('0001e032-a'),
        machine('b-0001E032', { labels: { ring: 'early' } }),
        machine('c', { version: '2.0.0' }),
      ]);
    await visit(page, '/console/apps');
    const presses = await countPresses(page);
    await at.follow('Test app', 'Devices');
    const rows = at.table('Devices').row();
    const find = async (text: string, count: number) => {
      await at.enter('Find devices', text);
      const said = count === 1 ? '1 device' : `${count} devices`;
      await page.getByText(said, { exact: true }).waitFor();
      await expect.poll(() => rows.count()).toBe(count + 1);
    };
    await page.getByText('3 devices', { exact: true }).waitFor();
    await find('0001e032-', 1);
    await at.table('Devices').follow('0001e032-a');
    await page.getByText('The rollout has reached 0 %').first().waitFor();
    // Two links, the Enter of the search, and the device.
    expect(await presses()).toBe(4);
    await page.goBack();
    await find('e032', 2);
    await find('ring=early', 1);
    await at.press('Remove id e032', 'Remove label ring=early');
    await find('2.0.0', 1);
    const lines = await saved(page);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^"c","2\.0\.0","stable","linux","x86_64"/);
    await at.press('Why not…');
    await at.fill('Ids of devices', '0001e032-a, nobody');
    await at.press('Show');
    await at
      .table('What each device would get now')
      .row(/^0001e032-a 1\.0\.0 nothing 3\.0\.0: /)
      .waitFor();
  });

  it('each figure of a release leads to its devices, and once it is rolled back the page shows the way down', async () => {
    const { at, page, tenant, open } = opened();
    const artifacts = [ARTIFACT, FOR_MAC];
    await tenant.publish('1.0.0', { artifacts });
    await tenant.publish('1.1.0', { artifacts });
    const mac = { platform: 'darwin', arch: 'aarch64' };
    await tenant.report(machines(4, { ...mac, version: '1.1.0' }, 'new'));
    await tenant.report(machines(2, mac, 'old'));
    await tenant.check('1.0.0', { device: 'old-0' });
    await untilOffered(tenant, '1.1.0');
    await open('/stable/1.1.0');
    const figure = (label: string) => page.locator('.figure', { hasText: label });
    expect(await figure('Offered').locator('.figure-value').textContent()).toBe('1');
    expect(await figure('Offered').textContent()).toContain('latest just now');
    await figure('On an older version').locator('.figure-value a').click();
    const rows = at.table('Devices').row();
    await expect.poll(() => rows.count()).toBe(3);
    await page.goBack();
    await at.follow('1 not on it yet');
    await expect.poll(() => rows.count()).toBe(2);
    await at.link('old-0').first().waitFor();
    await open('/stable/1.0.0');
    await at.reads('Not offered: 1.1.0 is newer.', 'Superseded');
    await at.lacks('Rolling out');
    await tenant.control('1.1.0', { status: 'rolled_back' });
    await open('/stable/1.1.0');
    const way = at.region('The way down');
    await way.reads('4 devices run it. 4 go to another release, 0 stay.');
    await way.reads('darwin/aarch64: 4 → 1.0.0');
    await way.reads(/^1 device was offered it last, the latest .* may still install it/);
  });

  it('the search opens apps, releases and devices with the keyboard; long lists of channels and releases are filtered', async () => {
    const { at, page, tenant, open } = opened();
    for (let index = 0; index < 27; index += 1) await tenant.publish(`2.${index}.0`);
    await tenant.control('2.3.0', { status: 'paused' });
    for (let index = 1; index <= 5; index += 1) {
      await admin(node, 'POST', 'channels', { app: tenant.app, name: `lane-${index}` });
    }
    const deviceId = `finder-${randomId()}`;
    await tenant.report([machine(deviceId)]);
    await visit(page, '/console/audit');
    await page.keyboard.press('/');
    const search = at.dialog('Search');
    const box = search.place.getByRole('textbox');
    const found = search.place.getByRole('list', { name: 'Found' }).getByRole('link');
    for (const [text, hit] of [
      ['v2.26', expect.stringContaining('2.26.0')],
      [deviceId.slice(0, 12), expect.stringContaining(deviceId)],
      [tenant.app, expect.stringMatching(/^App/)],
    ] as const) {
      await box.fill(text);
      await expect.poll(() => found.allTextContents()).toEqual([hit]);
    }
    await page.keyboard.press('Enter');
    await at.heading('stable').waitFor();
    await page.keyboard.press('/');
    await box.fill('nothing like this');
    await search.reads('Nothing was found.');
    await search.escape();

    const rows = at.table('Releases').row();
    await at.enter('Version begins with', '2.1');
    await expect.poll(() => rows.count()).toBe(12);
    await at.fill('Version begins with', '');
    await at.choose('Status', 'paused');
    await expect.poll(() => rows.count()).toBe(2);
    await open('/lane-5');
    const tabs = page.getByRole('navigation', { name: 'Channels and fleet' });
    expect(await tabs.getByRole('link').allTextContents()).toEqual([
      ...['stable', 'beta', 'lane-1', 'lane-2', 'lane-3', 'lane-5', 'Fleet', 'Devices'],
    ]);
    const menu = await at.opens('All 7 channels…', 'Channels');
    await menu.place.getByRole('textbox').fill('E-4');
    await menu.follow('lane-4');
    await at.heading('lane-4').waitFor();
  });
});
