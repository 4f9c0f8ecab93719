// Tests that steering a release at the console forgives a tired hand: what is said of an act is what becomes
// of the devices, no second click undoes the first, and nothing reaches many devices by accident.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { DEADLINES_OF_PAGE, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { sharedNode } from '../support/service-suite.ts';
import { manage, publish, report, type Tenant } from '../support/tenant.ts';

const SAID = 'What it would do';

describeInBrowser('steering at the console', (browser) => {
  const node = sharedNode();
  let tab: Tab;
  let page: Page;
  let tenant: Tenant;
  eachOwnerTab(browser, node, (opened) => {
    ({ tab, page, tenant } = opened);
  });

  const artifact = (platform: string) => ({ platform, url: `https://x.example/${platform}.zip` });
  const devices = (count: number, platform: string, version: string) =>
    Array.from({ length: count }, (_, index) => ({
      deviceId: `${platform}-${index}`,
      ...{ version, platform, arch: 'aarch64' },
    }));

  /** Opens the dialog of an act; resolves once it says what it would do. */
  async function open(opens: string, verb: string) {
    await page.getByRole('button', { name: opens, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: verb });
    await dialog.getByRole('status', { name: SAID }).waitFor();
    return dialog;
  }

  async function statusOf(version: string): Promise<unknown> {
    const query = `releases?app=${tenant.app}&channel=stable&version=${version}`;
    const { body } = await manage(node, tenant, 'GET', query);
    return (body as { releases: { status: string }[] }).releases[0]?.status;
  }

  it('a rollback in parts says who goes where, and who stays', async () => {
    const both = [artifact('darwin'), artifact('linux')];
    await publish(node, tenant, '3.0.0', { artifacts: both, rollout: 100 });
    await publish(node, tenant, '3.1.0', { artifacts: [artifact('linux')] });
    await publish(node, tenant, '3.2.0', { artifacts: [...both, artifact('windows')] });
    await report(node, tenant, [
      ...devices(12, 'linux', '3.2.0'),
      ...devices(5, 'darwin', '3.2.0'),
      ...devices(2, 'windows', '3.2.0'),
    ]);
    await visit(page, `/console/apps/${tenant.app}/stable/3.2.0`);
    const dialog = await open('Roll back…', 'Roll back 3.2.0');
    await dialog.getByText('19 devices run it. 17 go to another release, 2 stay.').waitFor();
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
      'linux/aarch64: 12 → 3.1.0',
      'darwin/aarch64: 5 → 3.0.0',
      expect.stringMatching(/^windows\/aarch64: 2 stay: no older release/),
    ]);
  });

  it.each([
    { what: 'the rollout', late: 'releases/plan?', path: '/stable/1.0.0', act: '50 %' },
    { what: 'a channel', late: 'channel?', path: '/stable', act: 'Publish release' },
  ])('what steers $what is shown once it stays where it is', async ({ late, path, act }) => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    const held: (() => Promise<void>)[] = [];
    let isLate = true;
    const isIts = (url: URL) => url.href.includes(`/console/api/${late}`);
    await page.route(isIts, (route) => {
      const go = () => route.continue();
      return isLate ? void held.push(go) : go();
    });
    await page.goto(`/console/apps/${tenant.app}${path}`);
    await page.getByText('as of').first().waitFor({ state: 'attached' });
    await eventually('the rest is asked for', () => held.length > 0);
    const button = page.getByRole('button', { name: act, exact: true });
    expect(await button.isVisible()).toBe(false);
    isLate = false;
    await Promise.all(held.map((go) => go()));
    await button.waitFor();
  });

  it('a second click at the place of the first one does not resume what it paused', async () => {
    await publish(node, tenant, '1.0.0');
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    const place = await page.getByRole('button', { name: 'Pause…' }).boundingBox();
    const dialog = await open('Pause…', 'Pause 1.0.0');
    await dialog.getByLabel('Reason').fill('crashes at start');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    const writes: string[] = [];
    page.on('request', (request) => writes.push(request.method()));
    await page.mouse.click((place?.x ?? 0) + 10, (place?.y ?? 0) + 10);
    await page.mouse.click((place?.x ?? 0) + 10, (place?.y ?? 0) + 10);
    await tab.pass(10_000);
    await page.evaluate("fetch('/console/api/session').then((answer) => answer.text())");
    expect(writes).not.toContain('PATCH');
    expect(await statusOf('1.0.0')).toBe('paused');
    await page.keyboard.press('Escape');
    await page.getByText('crashes at start').first().waitFor();
  });

  it('what reaches half of the fleet is confirmed with its number, what reaches fewer is not', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 0 });
    const fleet = Array.from({ length: 200 }, (_, index) => ({
      deviceId: `device-${index}`,
      ...{ version: '0.9.0', platform: 'linux', arch: 'x86_64' },
    }));
    await report(node, tenant, fleet);
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await page.getByRole('button', { name: '5 %', exact: true }).click();
    const few = await open('Raise to 5 %…', 'Raise to 5 %');
    expect(await few.getByRole('checkbox').count()).toBe(0);
    await page.keyboard.press('Escape');
    await few.waitFor({ state: 'detached' });
    await page.getByLabel('Exactly (%)').fill('100');
    const many = await open('Raise to 100 %…', 'Raise to 100 %');
    await many.getByText('200 more devices will be offered 1.0.0').waitFor();
    const raise = many.getByRole('button', { name: 'Raise to 100 %' });
    expect(await raise.isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    await many.getByLabel('200 more devices are offered it now').check();
    await many.getByLabel('Reason').fill('quiet for a day');
    await raise.click();
    await page.getByText('quiet for a day').waitFor();
  });

  it('a raise of a paused release says that it stays paused, and what it will do then (U18)', async () => {
    const artifacts = [artifact('linux')];
    await publish(node, tenant, '1.0.0', { artifacts, rollout: 0, status: 'paused' });
    await report(node, tenant, devices(20, 'linux', '0.9.0'));
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await page.getByRole('button', { name: '100 %', exact: true }).click();
    const dialog = await open('Raise to 100 %…', 'Raise to 100 %');
    await dialog
      .getByText('It stays paused: 100 % is the share that it has once it is resumed')
      .waitFor();
    await dialog.getByText('20 more devices will be offered 1.0.0').waitFor();
    // Nobody is offered it now, so there is nothing to confirm.
    expect(await dialog.getByRole('checkbox').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Raise to 100 %' }).click();
    await page.getByText('Paused at 100 %').waitFor();
    expect(await statusOf('1.0.0')).toBe('paused');
  });

  it('a plan that is over does not claim to watch (U20)', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 0, status: 'paused' });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const plan = { steps: [{ rollout: 10, holdMinutes: 60 }], guards: { failedPercent: 2 } };
    expect((await manage(node, tenant, 'PUT', 'releases/plan', { ...name, ...plan })).status).toBe(
      200,
    );
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    const card = page.getByRole('region', { name: 'Plan', exact: true });
    const watching = card.getByText('When a signal exceeds its limit');
    await watching.waitFor();
    await manage(node, tenant, 'PATCH', 'releases/plan', { ...name, action: 'cancel' });
    await tab.soon(card.getByText('The plan is over: nothing watches the signals now.'));
    expect(await watching.count()).toBe(0);
  });

  it('a deprecated release is published again, in the words of its button (U21)', async () => {
    await publish(node, tenant, '1.0.0');
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...name, status: 'deprecated' });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    const dialog = await open('Publish again…', 'Publish 1.0.0 again');
    await dialog.getByRole('button', { name: 'Publish 1.0.0 again' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Pause…' }).waitFor();
    expect(await statusOf('1.0.0')).toBe('published');
  });

  it('a connection that hangs shows how old the numbers are, then that nothing answers', async () => {
    await publish(node, tenant, '1.0.0');
    await tab.context.addInitScript(DEADLINES_OF_PAGE);
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    const asOf = page.locator('.as-of');
    const first = await asOf.textContent();
    expect(first).toMatch(/^as of .*\d{1,2}:\d{2}:\d{2}/);
    await eventually('a newer time is shown, which is not old', async () => {
      const isNewer = (await asOf.textContent()) !== first;
      // Time that passes while a busy machine answers makes the figures old: then it waits for the answer.
      if (!isNewer) await tab.pass(1000);
      return isNewer && (await page.locator('.as-of.old').count()) === 0;
    });
    await page.route('**/console/api/**', () => undefined);
    await tab.soon(page.getByText('and nothing newer since'));
    await tab.soon(page.getByRole('alert').getByText('The service does not answer'));
    await page.unroute('**/console/api/**');
    await tab.soon(page.locator('.as-of.old'), 'detached');
    await tab.soon(page.getByRole('alert'), 'detached');
  });

  it('Escape throws away nothing that was filled in, and no secret, without asking', async () => {
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await page.getByRole('button', { name: 'Publish release' }).click();
    const publishing = page.getByRole('dialog', { name: 'Publish to stable' });
    await publishing.waitFor();
    await page.keyboard.press('Escape');
    await publishing.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Publish release' }).click();
    await publishing.getByLabel('Version').fill('7.0.0');
    await page.keyboard.press('Escape');
    await publishing.getByText('Discard what you entered?').waitFor();
    await page.keyboard.press('Enter');
    expect(await publishing.getByLabel('Version').inputValue()).toBe('7.0.0');
    await page.keyboard.press('Escape');
    await publishing.getByRole('button', { name: 'Discard' }).click();
    await publishing.waitFor({ state: 'detached' });

    await visit(page, '/console/settings/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('ci-2');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const minted = page.getByRole('dialog', { name: 'Key created' });
    await minted.waitFor();
    await page.keyboard.press('Escape');
    await minted.getByText('Is the key copied?').waitFor();
    await minted.locator('.secret-text').waitFor();
    await minted.getByRole('button', { name: 'Done' }).click();
    await minted.waitFor({ state: 'detached' });
  });

  it('what somebody else changed meanwhile is told, and not overwritten', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await page.getByRole('button', { name: '25 %', exact: true }).click();
    const dialog = await open('Raise to 25 %…', 'Raise to 25 %');
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    // The page does not hear of the pause before the click.
    await page.route('**/console/api/release?*', () => undefined);
    await manage(node, tenant, 'PATCH', 'releases', { ...name, status: 'paused' });
    await dialog.getByRole('button', { name: 'Raise to 25 %' }).click();
    await dialog.getByRole('alert').getByText('it is paused, at 10 %').waitFor();
    expect(await statusOf('1.0.0')).toBe('paused');
  });

  it('the history says what was done in sentences, and the audit leads there', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...name, rollout: 50 });
    await manage(node, tenant, 'PATCH', 'releases', { ...name, status: 'paused' });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    for (const sentence of [
      'paused it',
      'raised the rollout from 10 % to 50 %',
      'published it at 10 % with one artifact',
    ]) {
      await page.getByRole('listitem').getByText(sentence, { exact: true }).waitFor();
    }
    await page.getByRole('img', { name: 'Rollout: 0 %' }).waitFor();
    await visit(page, '/console/audit');
    await page
      .getByRole('link', { name: `${tenant.app}/stable@1.0.0` })
      .first()
      .click();
    await page.waitForURL(`**/console/apps/${tenant.app}/stable/1.0.0`);
  });

  it('a release without artifacts is not shown as if all were well; stable is the first tab', async () => {
    await publish(node, tenant, '1.0.0', { artifacts: [] });
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await page.getByRole('row').getByText('No artifacts').waitFor();
    const tabs = page.getByRole('navigation', { name: 'Channels and fleet' }).getByRole('link');
    expect(await tabs.allTextContents()).toEqual(['stable', 'beta', 'Fleet', 'Devices']);
  });
});
