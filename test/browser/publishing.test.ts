// Walks through publishing in the browser: a review that finds something, what is changed after it, a
// promotion, a withdrawal, and the webhooks of an app.

import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { chooseMore, openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
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
    await press('Review');
    const said = publishing.getByRole('status', { name: 'What it would do' });
    await said.getByText('Of 20 devices seen in the last 30 days, 15 are offered').waitFor();
    await said.getByText('Windows (x86_64) has no file. 5 devices keep their versions.').waitFor();
    expect(await versions('stable')).toEqual([]);
    await publishing.getByLabel('Platform', { exact: true }).fill('widnows');
    expect(await publishing.getByRole('button', { name: 'Publish' }).count()).toBe(0);
    await press('Review');
    await said.getByText('The platform of notes.tar.gz is neither a known platform').waitFor();
    await publishing.getByLabel('Platform', { exact: true }).fill('linux');
    await publishing.getByLabel('Share (%)').fill('0');
    await press('Review');
    await press('Publish');
    await page.getByRole('heading', { name: '1.1.0' }).waitFor();
    expect(await versions('stable')).toEqual(['1.1.0']);
  });

  it('a release is promoted to another channel, and opens there', async () => {
    await chooseMore(page, 'Promote…');
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
    await press('Review');
    await publishing.getByRole('alert').waitFor();
    await publishing.getByLabel('Version').fill('1.2.0');
    await publishing.getByLabel('Notes').fill('The next one');
    const url = publishing.getByLabel('URL');
    expect(await url.inputValue()).toBe('https://downloads.example.com/1.2.0/notes-1.2.0.zip');
    expect(await publishing.getByLabel('Platform', { exact: true }).inputValue()).toBe('linux');
    await press('Review');
    await publishing.getByRole('status', { name: 'What it would do' }).waitFor();
    await publishing.getByLabel('more devices are offered it now').check();
    await press('Publish');
    await page.getByRole('heading', { name: '1.2.0' }).waitFor();
    expect(await versions('stable')).toEqual(['1.2.0', '1.1.0']);
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
    await press('Make it');
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
