// The console says what has happened, what is wrong and what to do, to those who begin and those who look.

import { expect, it } from 'vitest';
import { describeOwnerTab, visit } from '../support/browser.ts';
import { machine, untilOffered } from '../support/fleet-of.ts';
import { gate } from '../support/gate.ts';
import { gone } from '../support/hands.ts';
import { member } from '../support/person.ts';
import { randomId } from '../support/tenant.ts';

/** Milliseconds between two reads of `/readyz`. */
const DEGRADED_MS = 15_000;

describeOwnerTab('what the console says', (opened, node) => {
  it('the first page begins with what needs a person, and every page says which store is away', async () => {
    const { at, page, tab, tenant, open } = opened();
    // A browser that keeps nothing shows the console all the same.
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get: () => { throw new DOMException('denied', 'SecurityError'); }
    })`);
    await visit(page, '/console/apps');
    await at.reads('Nothing needs you');
    await tenant.publish('1.0.0', { artifacts: [] });
    const strip = at.region('Needs you');
    await tab.soon(strip.place);
    await strip.reads('It is published without a file that a device could install.');
    await strip.follow(`Open ${tenant.app}/stable 1.0.0`);
    await page.getByRole('heading', { name: '1.0.0' }).waitFor();
    await open('/stable');
    await at.row().getByText('No artifacts').waitFor();
    await tenant.control('1.0.0', { status: 'paused' });
    await visit(page, '/console/apps');
    await at.reads('Nothing needs you');
    const message = 'PostgreSQL refuses writes: it is read-only: nothing can be changed';
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

  it('the page of a device says what it gets, what failed and why', async () => {
    const { at, tenant, open } = opened();
    await tenant.report([machine('a')]);
    await tenant.publish('1.5.0');
    await tenant.publish('2.0.0');
    await tenant.check('1.0.0', { device: 'a' });
    await untilOffered(tenant, '2.0.0');
    const failed = { version: '2.0.0', reason: 'Installer exited with code 1603' };
    await tenant.report([machine('a', { version: '1.5.0', failed })]);
    await tenant.control('2.0.0', { status: 'paused' });
    await open('/devices/a');
    await at.finds('2.0.0 is newer, but is paused, so it is not offered.');
    await at.finds('It failed to install 2.0.0: “Installer exited with code 1603”.');
    await at.reads('Was offered 2.0.0 (stable)');
  });

  it('a page, an act, what another person does and a role that is taken away are told', async () => {
    const { at, page, tab, tenant, owner, open } = opened();
    await tenant.publish('1.0.0', { rollout: 10 });
    const said = () => page.locator('#said').textContent();
    const isFocused = (name: string) =>
      page.getByRole('heading', { name }).and(page.locator(':focus')).waitFor();
    await visit(page, '/console/apps');
    await at.link('stable').first().click();
    await isFocused('stable');
    await at.link('1.0.0').first().click();
    await isFocused('1.0.0');
    await at.press('Pause…');
    await at.dialog().place.locator('button[type="submit"]').click();
    await gone(at.dialog());
    await expect.poll(said).toMatch(/: done\.$/);
    await at.button('Resume…').waitFor();
    // On paper there is nothing to click.
    await page.emulateMedia({ media: 'print' });
    expect(await at.button('Resume…').isVisible()).toBe(false);
    expect(await page.getByText('published it at 10 % with one artifact').isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).not.toBe('BODY');
    const other = await member(node, tenant.org, 'owner', 'Other');
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await other.call('PATCH', 'releases', { ...name, rollout: 20 });
    const notice = page.getByRole('status').filter({ hasText: other.email });
    await tab.soon(notice.getByText('from 10 % to 20 %'));
    expect(await said()).toContain(`${other.email}: Raised`);
    await open('/stable');
    await at.press('Publish release');
    const seat = { org: tenant.org, account: owner.accountId };
    await other.call('PATCH', 'members', { ...seat, role: 'viewer' });
    await tab.soon(page.getByRole('alert').getByText(/^You are a viewer of .* now\./));
    await other.call('DELETE', 'members', seat);
    await tab.soon(page.getByText('You are in no organization'));
  });

  it('a button to create an app is there once it stays where it is', async () => {
    const { at, page } = opened();
    const { opened: known, open: tell } = gate();
    await page.route('**/console/api/apps?*', async (route) => {
      await known;
      await route.continue();
    });
    await page.goto('/console/apps');
    await at.heading('Apps').waitFor();
    expect(await at.button('Create app').count()).toBe(0);
    tell();
    await at.button('Create app').waitFor();
  });

  it('an app begins with its first steps, is renamed, archived, takes no release then, and comes back', async () => {
    const { at, page, tab, tenant, open } = opened();
    await open('/stable');
    const steps = at.region('First steps');
    await steps.reads('To do: Publish a release');
    const line = await steps.place.getByText('curl').textContent();
    const url = /https?:\/\/\S+/.exec(line ?? '')?.[0] ?? '';
    const artifacts = [{ platform: 'darwin', url: 'https://x.example/a.zip' }];
    await tenant.publish('1.0.0', { artifacts });
    await tab.soon(steps.place.getByText('Done: Publish a release'));

    const edit = await at.opens('Edit app…', 'Edit');
    await edit.fill('Name', 'Pocket notes');
    await edit.send('Rename');
    await at.link('Pocket notes').waitFor();
    const settings = await at.opens('Channel settings', 'Settings of');
    await settings.reads('choose first under Edit app how these devices authenticate');
    await settings.press('Cancel');
    await at.press('Edit app…');
    await edit.reads("open: Whoever knows a device's id can close its actions.");
    await edit.choose('Devices that speak DDI authenticate', 'token');
    await edit.send('Save');
    await at.press('Channel settings');
    await settings.choose('Devices that speak DDI', 'on');
    await settings.fill('Seconds between two polls', '60');
    await settings.fill('Attribute that tells the version', 'firmware');
    await settings.send('Save');
    const { body } = await tenant.manage('GET', `channels?app=${tenant.app}`);
    expect(body?.channels).toMatchObject([
      { name: 'beta', ddi: null },
      { ddi: { pollSeconds: 60, retries: 2, keys: { arch: 'arch', version: 'firmware' } } },
    ]);
    await at.press('Edit app…');
    await edit.press('Archive it');
    await at.reads('This app is archived');
    expect(await at.button('Publish release').count()).toBe(0);
    await visit(page, '/console/apps');
    expect(await at.link('Pocket notes').count()).toBe(0);
    await at.press('Show 1 archived app');
    await at.follow('Pocket notes');
    await at.press('Edit app…');
    await edit.press('Bring it back');
    await at.button('Publish release').waitFor();

    // The command of the first steps asks as a device does, which is the last of them.
    const headers = { 'X-Service-Device': `first-${randomId()}` };
    const answer = await fetch(`${node.url}${new URL(url).pathname}`, { headers });
    expect(await answer.json()).toMatchObject({ version: '1.0.0' });
    await tab.soon(steps.place, 'detached');
  });
});
