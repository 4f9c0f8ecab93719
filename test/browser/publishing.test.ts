// Publishing in the browser: its steps, what is pasted, a review that finds something, refusals at their
// fields, a plan of its own, a promotion, a withdrawal, and the webhooks of an app.

import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeInBrowser, openTab, type Tab, visit } from '../support/browser.ts';
import { machines } from '../support/fleet-of.ts';
import { type CodeHost, deliverAs, giteaAsset, giteaEvent } from '../support/gitea.ts';
import { Hands, isFocused } from '../support/hands.ts';
import { member } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const PHONE = { width: 375, height: 700 };

describeInBrowser('publishing at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let at: Tab['at'];
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(node);
    const owner = await member(node, tenant.org, 'owner', 'Olga');
    const windows = machines(5, { platform: 'windows', labels: { ring: 'late' } }, 'window');
    await tenant.report([...machines(15, { labels: { ring: 'early' } }), ...windows]);
    tab = await openTab(browser(), node, { token: owner.token });
    ({ at, page } = tab);
  });
  afterEach(async () => {
    expect(await tab.complaints()).toEqual([]);
  });
  afterAll(() => tab?.close());

  const place = (path = '') => `/console/apps/${tenant.app}${path}`;
  const publishing = () => at.dialog('Publish to stable');
  const press = (name: string) => at.dialog().press(name);
  const effect = () => publishing().place.getByRole('status', { name: 'What it would do' });
  const stepOf = () => publishing().step.textContent();
  const step = (name: string) => publishing().toStep(name);

  async function begin(version: string): Promise<void> {
    await visit(page, place('/stable'));
    await at.press('Publish release');
    await publishing().fill('Version', version);
  }

  /** Asks for the review, which is refused: this leads to a field of a step. */
  async function isRefused(field: Locator, name: string, why?: string | RegExp): Promise<void> {
    await step('How fast');
    await publishing().press('Next');
    if (why !== undefined) await publishing().warns(why);
    await expect.poll(() => isFocused(field)).toBe(true);
    expect(await stepOf()).toBe(name);
  }

  const versions = (channel: string) => tenant.versions(`app=${tenant.app}&channel=${channel}`);

  it('a release is reviewed, changed, reviewed again and published, promoted, and withdrawn where nobody was offered it', async () => {
    await begin('1.1.0');
    await publishing().fill('Platform', 'linux');
    await publishing().fill('URL', 'https://downloads.example.com/notes.tar.gz');
    await step('Review');
    const said = new Hands(effect());
    await said.reads('Of 20 devices seen in the last 30 days, 15 are offered');
    await said.reads('Windows (x86_64) has no file. 5 devices keep their versions.');
    expect(await versions('stable')).toEqual([]);
    await press('Change Files');
    await publishing().fill('Platform', 'widnows');
    await step('How fast');
    expect(await publishing().button('Publish').count()).toBe(0);
    await step('Review');
    await said.reads('The platform of notes.tar.gz is neither a known platform');
    await press('Files');
    await publishing().fill('Platform', 'linux');
    await step('How fast');
    await publishing().fill('Share (%)', '0');
    await step('Review');
    await publishing().reads('It begins at 0 % on stable.');
    await press('Publish');
    await page.getByRole('heading', { name: '1.1.0' }).waitFor();
    expect(await versions('stable')).toEqual(['1.1.0']);

    await at.chooseMore('Promote…');
    const promoting = at.dialog('Promote 1.1.0');
    await promoting.toStep('Review');
    await promoting.reads(/It begins at \d+\s% on beta\./);
    await promoting.fill('Reason', 'tried by us');
    await press('Promote to beta');
    await at.link('beta').first().waitFor();
    await page.waitForURL(`**${place('/beta/1.1.0')}`);
    expect([await versions('stable'), await versions('beta')]).toEqual([['1.1.0'], ['1.1.0']]);
    await at.reads('tried by us');
    await at.chooseMore('Withdraw…');
    await press('Withdraw 1.1.0');
    await page.waitForURL(`**${place('/beta')}`);
    expect(await versions('beta')).toEqual([]);
    await visit(page, place('/stable/1.1.0'));
    await at.chooseMore('Withdraw…');
    await tenant.control('1.1.0', { rollout: 100 });
    expect((await tenant.check('1.0.0', { device: 'device-1' })).status).toBe(200);
    await press('Withdraw 1.1.0');
    await page.getByRole('alert').getByText('already offered').waitFor();
    expect(await versions('stable')).toEqual(['1.1.0']);
    await page.reload();
    await at.button('Roll back…').waitFor();
    expect(await at.button('Withdraw…').count()).toBe(0);
  });

  it('a release is published by steps with the keyboard alone, on a phone, and every step is sound', async () => {
    await visit(page, place('/stable'));
    await page.setViewportSize(PHONE);
    const enterAt = async (name: string, within: Hands = publishing()) => {
      await at.tabTo(within.button(name));
      await page.keyboard.press('Enter');
    };
    const type = async (label: string, text: string) => {
      await at.tabTo(publishing().field(label));
      await page.keyboard.type(text);
    };
    const opens = async (title: string) => {
      const heading = publishing().heading(title);
      await heading.waitFor();
      await expect.poll(() => isFocused(heading)).toBe(true);
      expect(await faultsOn(page), title).toEqual([]);
      await page.setViewportSize(PHONE);
      const submit = publishing().place.locator('button[type="submit"]');
      const { y = 0, height = 0 } = (await submit.boundingBox()) ?? {};
      expect(y + height, title).toBeLessThan(PHONE.height);
    };
    await enterAt('Publish release', at);
    await publishing().field('Version').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    // The browser says at the field that it is required.
    expect(await stepOf()).toBe('Files');
    expect(await isFocused(publishing().field('Version'))).toBe(true);
    await page.keyboard.type('1.3.0');
    await type('Platform', 'linux');
    await type('URL', 'https://downloads.example.com/notes-1.3.0.zip');
    await at.tabTo(publishing().place.getByText('Signature, checksum, size, format'));
    await page.keyboard.press('Enter');
    await type('Size (bytes)', '1234');
    await page.keyboard.press('Enter');
    await opens('Who is offered it');
    await expect.poll(() => page.locator('#said').textContent()).toBe('Step 2 of 4: Who');
    await publishing().reads('Every device on stable');
    await enterAt('Add a label');
    await enterAt('Next');
    await publishing().warns('A label needs a name.');
    await expect.poll(() => isFocused(publishing().field('Label'))).toBe(true);
    await at.tabTo(publishing().place.getByRole('button', { name: 'Remove the label' }));
    await page.keyboard.press('Enter');
    await enterAt('Next');
    await opens('How fast it goes out');
    await at.tabTo(publishing().field('Share (%)'));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('0');
    await page.keyboard.press('Enter');
    await opens('Review');
    await enterAt('Change Who');
    await opens('Who is offered it');
    await enterAt('Next');
    await opens('How fast it goes out');
    await enterAt('Next');
    await opens('Review');
    await enterAt('Publish');
    await page.getByRole('heading', { name: '1.3.0' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    const [release] = await tenant.releases(`app=${tenant.app}&version=1.3.0`);
    expect(release).toMatchObject({ rolloutPct: 0, artifacts: [{ size: 1234 }] });
  }, 120_000);

  it('the next release begins with the artifacts of the last one, and is made with a plan of its own', async () => {
    await visit(page, place('/stable/1.1.0'));
    await at.chooseMore('Publish next…');
    await publishing().fill('Version', '1.1.0');
    await isRefused(publishing().field('Version'), 'Files', /already exists/);
    await publishing().fill('Version', '1.4.0');
    expect(await publishing().field('Platform').inputValue()).toBe('linux');
    await step('How fast');
    await publishing().check(/^By a plan/);
    await publishing().choose('Preset', 'fast');
    await publishing().choose('Preset', 'own');
    await press('Add a step');
    await publishing().fill({ 'Share of step 2 (%)': '60', 'Hold of step 2 (hours)': '36' });
    await step('Review');
    await publishing().reads('It begins at 0 % on stable, and its plan raises it.');
    await publishing().press(/^Publish/);
    await page.getByRole('heading', { name: '1.4.0' }).waitFor();
    const steps = [{ rollout: 20 }, { rollout: 60, holdMinutes: 2160 }, { rollout: 100 }];
    expect(await tenant.plan('1.4.0')).toMatchObject({ plan: { preset: null, steps } });
  });

  it('a refusal leads to the step and the field that it is about, and is there until that is changed', async () => {
    await begin('1.5.0');
    await publishing().fill('Platform', 'linux');
    await press('Add an artifact');
    await press('Add an artifact');
    // An empty row is not sent: the refusal is about the one after it.
    await publishing().field('Platform').nth(2).fill('darwin');
    const url = publishing().field('URL').nth(2);
    await url.fill('ftp://x.example/a.zip');
    await isRefused(url, 'Files', 'Must be an absolute http(s) URL');
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    await publishing().lacks('artifacts.1.url');
    await url.fill('https://x.example/a.zip');
    await publishing().place.getByRole('alert').waitFor({ state: 'detached' });
    expect(await url.getAttribute('aria-invalid')).toBeNull();
    await publishing().place.getByText('Signature, checksum, size, format').first().click();
    const size = publishing().field('Size (bytes)').first();
    await size.fill('-1');
    await step('Who');
    await press('Add a condition');
    const field = publishing().field('Field or label');
    await field.fill('$colour');
    await publishing().choose('Comparison', 'Exists');
    await isRefused(size, 'Files');
    await size.fill('');
    await isRefused(field, 'Who', 'Unknown reserved field');
    await press('Remove the condition on $colour');
    await step('How fast');
    await publishing().fill('Share (%)', '0');
    await step('Review');
    const json = { error: 'notes: Must have at most 256 KiB' };
    await page.route('**/console/api/releases', (route) => route.fulfill({ status: 400, json }));
    // A file without an address is an error, of which the review has told.
    await press('Publish anyway');
    await expect.poll(() => isFocused(publishing().field(/^Notes/))).toBe(true);
    await publishing().warns('Must have at most 256 KiB');
    await page.unroute('**/console/api/releases');
    await page.keyboard.press('Escape');
    await press('Discard');
  });

  it('pasted addresses become artifacts, pasted JSON the release, whose devices are counted', async () => {
    await begin('');
    await publishing().place.getByText('Paste addresses or JSON').click();
    const paste = async (text: string) => {
      await publishing().fill(/^Addresses of the files/, text);
      await press('Use these files');
    };
    const inputOf = (label: string, nth = 0) => publishing().field(label).nth(nth).inputValue();
    await paste('https://x.example/App-3.0.0-arm64.dmg\nhttps://x.example/App-3.0.0-x64.exe');
    await expect.poll(() => inputOf('Platform', 1)).toBe('windows');
    const targets = { matchLabels: { ring: ['early'] } };
    await paste(JSON.stringify({ version: '3.0.0', rollout: 7, notes: 'From the build', targets }));
    await expect.poll(() => inputOf('Version')).toBe('3.0.0');
    await step('Who');
    await publishing().reads('15 of 20 devices seen in the last 30 days match');
    await step('Review');
    await publishing().press(/^Publish/);
    await at.reads('From the build', 'Published it at 7 % with 2 artifacts');
  });

  it('a webhook is enabled for a code host, delivers, and goes off', async () => {
    await visit(page, '/console/settings/webhooks');
    await at.reads('Releases come from');
    await at.choose('Enable a webhook for', tenant.app);
    const enabling = at.dialog('Enable a webhook');
    await enabling.choose('Code host', 'gitea');
    await enabling.fill('Prefix of the tags', 'desk-');
    await enabling.choose('New releases', 'expecting');
    expect(await enabling.button('Enable webhook').isDisabled()).toBe(true);
    await enabling.enter('Add a platform', 'linux');
    await press('Enable webhook');
    const issued = at.dialog('Webhook of Gitea');
    await issued.reads('shown this once');
    const [url, secret] = await issued.place.locator('.secret-text').allTextContents();
    await press('Done');
    await at.reads('Tags begin with desk-.');
    const { pathname } = new URL(String(url));
    const host: CodeHost = { provider: 'gitea', path: pathname, secret: String(secret) };
    await deliverAs(node, host, giteaEvent('published', 'desk-2.0.0', { assets: [] }));
    const assets = [giteaAsset('notes-linux-amd64')];
    const answer = await deliverAs(node, host, giteaEvent('updated', 'desk-2.0.0', { assets }));
    expect(answer.body?.release).toMatchObject({ version: '2.0.0', status: 'published' });
    expect(await page.content()).not.toContain(secret);
    await page.reload();
    await at.table('Last deliveries').finds('Gitea');

    await at.press('Disable… Gitea');
    await press('Disable webhook');
    await at.heading('Test app').waitFor({ state: 'detached' });
  });
});
