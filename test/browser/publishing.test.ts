// Walks through publishing in the browser: its steps, a review that finds something, what is changed after
// it, a plan of its own, a promotion, a withdrawal, and the webhooks of an app.

import type { Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { chooseMore, isFocused, openTab, type Tab, tabTo, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { currentStep, goOn, toStep } from '../support/dialog-steps.ts';
import { type CodeHost, deliverAs, giteaAsset, giteaEvent } from '../support/gitea.ts';
import { member, type Person } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin, check, createTenant, manage, report, type Tenant } from '../support/tenant.ts';

describeInBrowser('publishing at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  let owner: Person;

  beforeAll(async () => {
    tenant = await createTenant(node);
    owner = await member(node, tenant.org, 'owner', 'Olga');
    const devices = Array.from({ length: 20 }, (_, index) => ({
      deviceId: `device-${index}`,
      ...{ version: '1.0.0', platform: index < 15 ? 'linux' : 'windows', arch: 'x86_64' },
    }));
    await report(node, tenant, devices);
    tab = await openTab(browser(), node, { token: owner.token });
    page = tab.page;
  });
  afterEach(async () => {
    expect(await tab.complaints()).toEqual([]);
  });
  afterAll(() => tab?.close());

  const place = () => `/console/apps/${tenant.app}`;
  const dialog = (name: string | RegExp) => page.getByRole('dialog', { name });
  const press = (name: string, within = page.getByRole('dialog')) =>
    within.getByRole('button', { name, exact: true }).click();

  async function versions(channel: string): Promise<unknown[]> {
    const query = `releases?app=${tenant.app}&channel=${channel}`;
    const { body } = await manage(node, tenant, 'GET', query);
    return (body as { releases: { version: string }[] }).releases.map((each) => each.version);
  }

  it('a release is reviewed before it is published, and again once it was changed', async () => {
    await visit(page, `${place()}/stable`);
    await page.getByRole('button', { name: 'Publish release' }).click();
    const publishing = dialog('Publish to stable');
    await publishing.getByLabel('Version').fill('1.1.0');
    await publishing.getByLabel('Platform', { exact: true }).fill('linux');
    await publishing.getByLabel('URL').fill('https://downloads.example.com/notes.tar.gz');
    await toStep(publishing, 'Review');
    const said = publishing.getByRole('status', { name: 'What it would do' });
    await said.getByText('Of 20 devices seen in the last 30 days, 15 are offered').waitFor();
    await said.getByText('Windows (x86_64) has no file. 5 devices keep their versions.').waitFor();
    expect(await versions('stable')).toEqual([]);
    await press('Change Files');
    await publishing.getByLabel('Platform', { exact: true }).fill('widnows');
    await toStep(publishing, 'How fast');
    expect(await publishing.getByRole('button', { name: 'Publish' }).count()).toBe(0);
    await toStep(publishing, 'Review');
    await said.getByText('The platform of notes.tar.gz is neither a known platform').waitFor();
    await press('Files');
    await publishing.getByLabel('Platform', { exact: true }).fill('linux');
    await toStep(publishing, 'How fast');
    await publishing.getByLabel('Share (%)').fill('0');
    await toStep(publishing, 'Review');
    await press('Publish');
    await page.getByRole('heading', { name: '1.1.0' }).waitFor();
    expect(await versions('stable')).toEqual(['1.1.0']);
  });

  it('a release is promoted to another channel, and opens there', async () => {
    await chooseMore(page, 'Promote…');
    await toStep(dialog('Promote 1.1.0'), 'Review');
    await dialog('Promote 1.1.0').getByLabel('Reason').fill('tried by us');
    await press('Promote to beta');
    await page.getByRole('link', { name: 'beta', exact: true }).first().waitFor();
    await page.waitForURL(`**${place()}/beta/1.1.0`);
    expect([await versions('stable'), await versions('beta')]).toEqual([['1.1.0'], ['1.1.0']]);
    await page.getByText('tried by us').waitFor();
  });

  it('a release that nobody was offered is withdrawn; one that was is not', async () => {
    await chooseMore(page, 'Withdraw…');
    await press('Withdraw 1.1.0');
    await page.waitForURL(`**${place()}/beta`);
    expect(await versions('beta')).toEqual([]);
    await visit(page, `${place()}/stable/1.1.0`);
    await chooseMore(page, 'Withdraw…');
    const query = { app: tenant.app, channel: 'stable', version: '1.1.0', rollout: 100 };
    await manage(node, tenant, 'PATCH', 'releases', query);
    expect((await check(node, tenant, '1.0.0', { device: 'device-1' })).status).toBe(200);
    await press('Withdraw 1.1.0');
    await page.getByRole('alert').getByText('already offered').waitFor();
    expect(await versions('stable')).toEqual(['1.1.0']);
    await page.reload();
    await page.getByRole('button', { name: 'Roll back…' }).waitFor();
    expect(await page.getByRole('button', { name: 'Withdraw…' }).count()).toBe(0);
  });

  it('the next release begins with the artifacts of the last one, under its own version', async () => {
    await visit(page, `${place()}/stable/1.1.0`);
    await chooseMore(page, 'Publish next…');
    const publishing = dialog('Publish to stable');
    await publishing.getByLabel('URL').fill('https://downloads.example.com/1.1.0/notes-1.1.0.zip');
    await publishing.getByLabel('Version').fill('1.1.0');
    await toStep(publishing, 'How fast');
    await goOn(publishing);
    await publishing.getByRole('alert').getByText('already exists').waitFor();
    expect(await currentStep(publishing).textContent()).toBe('Files');
    await expect.poll(() => isFocused(publishing.getByLabel('Version'))).toBe(true);
    await publishing.getByLabel('Version').fill('1.2.0');
    await publishing.getByLabel('Notes').fill('The next one');
    const url = publishing.getByLabel('URL');
    expect(await url.inputValue()).toBe('https://downloads.example.com/1.2.0/notes-1.2.0.zip');
    expect(await publishing.getByLabel('Platform', { exact: true }).inputValue()).toBe('linux');
    await toStep(publishing, 'Review');
    await publishing.getByRole('status', { name: 'What it would do' }).waitFor();
    await publishing.getByLabel('more devices are offered it now').check();
    await press('Publish');
    await page.getByRole('heading', { name: '1.2.0' }).waitFor();
    expect(await versions('stable')).toEqual(['1.2.0', '1.1.0']);
  });

  it('a release is published by steps with the keyboard alone, on a phone, and every step is sound', async () => {
    await visit(page, `${place()}/stable`);
    await page.setViewportSize({ width: 375, height: 700 });
    await tabTo(page, page.getByRole('button', { name: 'Publish release' }));
    await page.keyboard.press('Enter');
    const publishing = dialog('Publish to stable');
    const next = publishing.getByRole('button', { name: 'Next', exact: true });
    const opens = async (title: string) => {
      const heading = publishing.getByRole('heading', { name: title, exact: true });
      await heading.waitFor();
      await expect.poll(() => isFocused(heading)).toBe(true);
      expect(await faultsOn(page), title).toEqual([]);
      await page.setViewportSize({ width: 375, height: 700 });
      const { y = 0, height = 0 } =
        (await publishing.locator('button[type="submit"]').boundingBox()) ?? {};
      expect(y + height, title).toBeLessThan(700);
    };
    await publishing.getByLabel('Version').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    // The browser says at the field that it is required.
    expect(await currentStep(publishing).textContent()).toBe('Files');
    expect(await isFocused(publishing.getByLabel('Version'))).toBe(true);
    await page.keyboard.type('1.3.0');
    await tabTo(page, publishing.getByLabel('Platform', { exact: true }));
    await page.keyboard.type('linux');
    await tabTo(page, publishing.getByLabel('URL'));
    await page.keyboard.type('https://downloads.example.com/notes-1.3.0.zip');
    await tabTo(page, publishing.getByText('Signature, checksum, size, format'));
    await page.keyboard.press('Enter');
    await tabTo(page, publishing.getByLabel('Size (bytes)'));
    await page.keyboard.type('1234');
    await page.keyboard.press('Enter');
    await opens('Who is offered it');
    await expect.poll(() => page.locator('#said').textContent()).toBe('Step 2 of 4: Who');
    await publishing.getByText('Every device on stable').waitFor();
    await tabTo(page, publishing.getByRole('button', { name: 'Add a label' }));
    await page.keyboard.press('Enter');
    await tabTo(page, next);
    await page.keyboard.press('Enter');
    await publishing.getByRole('alert').getByText('A label needs a name.').waitFor();
    await expect.poll(() => isFocused(publishing.getByLabel('Label', { exact: true }))).toBe(true);
    await tabTo(page, publishing.getByRole('button', { name: 'Remove the label' }));
    await page.keyboard.press('Enter');
    await tabTo(page, next);
    await page.keyboard.press('Enter');
    await opens('How fast it goes out');
    await tabTo(page, publishing.getByLabel('Share (%)'));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('0');
    await page.keyboard.press('Enter');
    await opens('Review');
    await tabTo(page, publishing.getByRole('button', { name: 'Change Who' }));
    await page.keyboard.press('Enter');
    await opens('Who is offered it');
    await tabTo(page, next);
    await page.keyboard.press('Enter');
    await opens('How fast it goes out');
    await tabTo(page, next);
    await page.keyboard.press('Enter');
    await opens('Review');
    await tabTo(page, publishing.getByRole('button', { name: 'Publish', exact: true }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1.3.0' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    const { body } = await manage(node, tenant, 'GET', `releases?app=${tenant.app}&version=1.3.0`);
    expect(body).toMatchObject({ releases: [{ rolloutPct: 0, artifacts: [{ size: 1234 }] }] });
  }, 120_000);

  it('a plan of its own begins as a preset, and is made with the release', async () => {
    await visit(page, `${place()}/stable`);
    await page.getByRole('button', { name: 'Publish release' }).click();
    const publishing = dialog('Publish to stable');
    await publishing.getByLabel('Version').fill('1.4.0');
    await toStep(publishing, 'How fast');
    await publishing.getByLabel('By a plan').check();
    await publishing.getByLabel('Preset').selectOption('fast');
    await publishing.getByText('20 % for 3 days, 100 % for 12 hours').waitFor();
    await publishing.getByLabel('Preset').selectOption('own');
    await press('Add a step');
    const share = publishing.getByLabel('Share of step 2 (%)');
    await share.fill('10');
    await goOn(publishing);
    // The browser says at the field that it is too small.
    await expect.poll(() => isFocused(share)).toBe(true);
    expect(await currentStep(publishing).textContent()).toBe('How fast');
    await share.fill('60');
    await publishing.getByLabel('Hold of step 2 (hours)').fill('36');
    await publishing.getByLabel('Silent').fill('');
    expect(await faultsOn(page)).toEqual([]);
    await toStep(publishing, 'Review');
    await publishing.getByText('20 % for 3 days, 60 % for 36 hours, 100 % for 12 hours').waitFor();
    await press('Publish');
    await page.getByRole('heading', { name: '1.4.0' }).waitFor();
    const query = `releases/plan?app=${tenant.app}&channel=stable&version=1.4.0`;
    const { body } = await manage(node, tenant, 'GET', query);
    expect(body).toMatchObject({
      plan: {
        preset: null,
        onBlind: 'hold',
        steps: [
          { rollout: 20, holdMinutes: 4320 },
          { rollout: 60, holdMinutes: 2160 },
          { rollout: 100, holdMinutes: 720 },
        ],
        guards: { failedPercent: 2, revertedPercent: 2, stuckPercent: 3, confirmMinutes: 60 },
      },
    });
    expect(JSON.stringify(body)).not.toContain('silentPercent');
  });

  it('a refusal of the service leads to the step and the field that it is about', async () => {
    await visit(page, `${place()}/stable`);
    await page.getByRole('button', { name: 'Publish release' }).click();
    const publishing = dialog('Publish to stable');
    await publishing.getByLabel('Version').fill('1.5.0');
    await publishing.getByLabel('Platform', { exact: true }).fill('linux');
    await publishing.getByText('Signature, checksum, size, format').click();
    const size = publishing.getByLabel('Size (bytes)');
    await size.fill('-1');
    await toStep(publishing, 'Who');
    await press('Add a condition');
    const field = publishing.getByLabel('Field or label');
    await field.fill('$colour');
    await publishing.getByLabel('Comparison').selectOption('Exists');
    await toStep(publishing, 'How fast');
    await goOn(publishing);
    await expect.poll(() => isFocused(size)).toBe(true);
    expect(await currentStep(publishing).textContent()).toBe('Files');
    await size.fill('');
    await toStep(publishing, 'How fast');
    await goOn(publishing);
    await publishing.getByRole('alert').getByText('Unknown reserved field').waitFor();
    expect(await currentStep(publishing).textContent()).toBe('Who');
    await expect.poll(() => isFocused(field)).toBe(true);
    await press('Remove the condition on $colour');
    await toStep(publishing, 'How fast');
    await publishing.getByLabel('Share (%)').fill('0');
    await toStep(publishing, 'Review');
    const json = { error: 'notes: Must have at most 256 KiB' };
    await page.route('**/console/api/releases', (route) => route.fulfill({ status: 400, json }));
    // A file without an address is an error, of which the review has told.
    await press('Publish anyway');
    await expect.poll(() => isFocused(publishing.getByLabel('Notes'))).toBe(true);
    await publishing.getByRole('alert').getByText('Must have at most 256 KiB').waitFor();
    await page.unroute('**/console/api/releases');
    await page.keyboard.press('Escape');
    await press('Discard');
  });

  it('a webhook is enabled for a code host, with settings, and delivers', async () => {
    await visit(page, '/console/settings/webhooks');
    await page.getByLabel('Enable a webhook for').selectOption(tenant.app);
    const enabling = dialog('Enable a webhook');
    await enabling.getByLabel('Code host').selectOption('gitea');
    await enabling.getByLabel('Prefix of the tags').fill('desk-');
    await enabling.getByLabel('New releases').selectOption('expecting');
    expect(await enabling.getByRole('button', { name: 'Enable webhook' }).isDisabled()).toBe(true);
    await enabling.getByLabel('Add a platform').fill('linux');
    await page.keyboard.press('Enter');
    await press('Enable webhook');
    const issued = dialog('Webhook of Gitea');
    await issued.getByText('shown this once').waitFor();
    const [url, secret] = await issued.locator('.secret-text').allTextContents();
    await press('Done');
    await page.getByText('Tags begin with desk-.').waitFor();
    const { pathname } = new URL(String(url));
    const host: CodeHost = { provider: 'gitea', path: pathname, secret: String(secret) };
    await deliverAs(node, host, giteaEvent('published', 'desk-2.0.0', { assets: [] }));
    const assets = [giteaAsset('notes-linux-amd64')];
    const answer = await deliverAs(node, host, giteaEvent('updated', 'desk-2.0.0', { assets }));
    expect(answer.body?.release).toMatchObject({ version: '2.0.0', status: 'published' });
    expect(await page.content()).not.toContain(secret);
    await page.reload();
    await page.getByRole('table', { name: 'Last deliveries' }).getByText('Gitea').first().waitFor();
  });

  it('its settings change without a new secret, and it goes off', async () => {
    await page.getByRole('button', { name: 'Settings… Gitea' }).click();
    await dialog('Releases from Gitea').getByLabel('New releases').selectOption('offered');
    await press('Save');
    await page.getByText('Releases are offered at once.').waitFor();
    await page.getByRole('button', { name: 'New secret… Gitea' }).click();
    // A secret that is made is shown, whatever key is pressed meanwhile.
    const pressEscape = async (route: Route) => {
      await page.keyboard.press('Escape');
      await route.continue();
    };
    await page.route('**/console/api/webhooks', pressEscape, { times: 1 });
    await press('Make new secret');
    await dialog('Webhook of Gitea').getByText('shown this once').waitFor();
    await press('Done');
    await page.getByRole('button', { name: 'Disable… Gitea' }).click();
    await press('Disable webhook');
    await page.getByText('Releases come from').waitFor();
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=4`);
    const { entries } = body as { entries: { actor: string; action: string }[] };
    expect(entries.map(({ action }) => action).slice(0, 3)).toEqual([
      ...['webhook.disable', 'webhook.enable', 'webhook.update'],
    ]);
  });
});
