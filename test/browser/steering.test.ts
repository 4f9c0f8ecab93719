// Steering releases in the browser: an act says first what becomes of the devices, what reaches many of them
// is confirmed with their number, and what stops a release waits for nothing.

import type { Locator, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { countPresses, DEADLINES_OF_PAGE, describeOwnerTab, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { machines } from '../support/fleet-of.ts';
import { gone, type Hands } from '../support/hands.ts';

const DEVICES = 40;
const MANY = new RegExp(`${DEVICES} more devices are offered it now`);

describeOwnerTab('steering at the console', (opened) => {
  /** Reports the fleet: devices on Linux that can have what `publish` publishes. */
  async function fleet(): Promise<void> {
    const devices = machines(DEVICES, { version: '0.9.0' });
    expect((await opened().tenant.report(devices)).status).toBe(200);
  }

  /** Expects that the act waits for its confirmation, and gives it. */
  async function confirm(dialog: Hands<Locator>, act: string): Promise<void> {
    await dialog.field(MANY).waitFor();
    expect(await dialog.button(act).isDisabled()).toBe(true);
    await dialog.check(MANY);
    await dialog.press(act);
  }

  const served = (version: string) => opened().tenant.servedAs(version);

  it('what is promoted, published and resumed for every device is confirmed with their number, by a plan it is not', async () => {
    await fleet();
    const { at, page, tenant, open } = opened();
    await tenant.publish('1.0.0', { channel: 'beta', status: 'paused' });
    await open('/beta/1.0.0');
    await at.chooseMore('Promote…');
    const dialog = at.dialog('Promote 1.0.0');
    await dialog.press('Next');
    await dialog.warns('It is paused on beta. Say rollout, plan');
    expect(await dialog.button('Promote to stable').count()).toBe(0);
    await dialog.fill('Share (%)', '100');
    await dialog.toStep('Review');
    await dialog.reads('It is paused on beta');
    await dialog.field(MANY).waitFor();
    expect(await dialog.button('Promote to stable').isDisabled()).toBe(true);
    await dialog.press('Back');
    await dialog.check(/^By a plan/);
    await dialog.choose('Preset', 'careful');
    await dialog.toStep('Review');
    await dialog.reads(`Of ${DEVICES} devices seen in the last 30 days, 0 are offered`);
    await dialog.press('Promote to stable');
    await page.waitForURL('**/stable/1.0.0');
    await at.heading('Plan').waitFor();
    expect(await tenant.plan('1.0.0')).toMatchObject({ plan: { status: 'running' } });

    await at.chooseMore('Publish next…');
    const publishing = at.dialog('Publish to stable');
    await publishing.fill('Version', '1.1.0');
    await publishing.toStep('Review');
    // It has the files of 1.0.0 still, which is an error (§23.3).
    await confirm(publishing, 'Publish anyway');
    await page.getByRole('heading', { name: '1.1.0' }).waitFor();

    await tenant.control('1.1.0', { status: 'paused' });
    // An effect that the service has no time for is confirmed without its number.
    const json = { error: 'Too much at once' };
    await page.route('**/releases/rehearse-serving', (route) =>
      route.fulfill({ status: 503, json }),
    );
    const resuming = await at.opens('Resume…', 'Resume 1.1.0');
    await resuming.reads('The effect cannot be shown: Too much at once');
    expect(await resuming.button('Resume 1.1.0').isDisabled()).toBe(true);
    await resuming.check(/how many devices are offered it is not known/);
    await resuming.press('Resume 1.1.0');
    await page.unroute('**/releases/rehearse-serving');
    await at.button('Pause…').waitFor();
    expect(await served('1.1.0')).toEqual(['published', 100]);
  });

  it('a pause stays in its place and is never refused; a second click does not take it back', async () => {
    await fleet();
    const { at, page, tab, tenant, open } = opened();
    await tenant.publish('1.0.0', { rollout: 30 });
    await open('/stable/1.0.0');
    const place = await at.button('Pause…').boundingBox();
    const held: Route[] = [];
    const hold = (route: Route) => void held.push(route);
    await page.route('**/releases/rehearse-serving', hold, { times: 1 });
    const dialog = await at.opens('Pause…', 'Pause 1.0.0');
    await eventually('its effect is asked for', () => held.length > 0);
    const early = await dialog.button('Pause 1.0.0').boundingBox();
    await held[0]?.continue();
    await dialog.reads('will no longer be offered an update');
    expect(await dialog.button('Pause 1.0.0').boundingBox()).toEqual(early);
    // The dialog stays open when the right ends meanwhile, and says so.
    const json = { error: 'Your role may not do this' };
    await page.route('**/console/api/releases', (route) => route.fulfill({ status: 403, json }));
    await dialog.press('Pause 1.0.0');
    await dialog.warns('Your role may not do this');
    await page.unroute('**/console/api/releases');
    await tenant.control('1.0.0', { rollout: 100 });
    await dialog.fill('Reason', 'crashes at start');
    await page.keyboard.press('Enter');
    await gone(dialog);
    expect(await served('1.0.0')).toEqual(['paused', 100]);
    const writes: string[] = [];
    page.on('request', (request) => writes.push(request.method()));
    await page.mouse.click((place?.x ?? 0) + 10, (place?.y ?? 0) + 10);
    await page.mouse.click((place?.x ?? 0) + 10, (place?.y ?? 0) + 10);
    await tab.pass(10_000);
    await page.evaluate("fetch('/console/api/session').then((answer) => answer.text())");
    expect(writes).not.toContain('PATCH');
    expect(await served('1.0.0')).toEqual(['paused', 100]);
    await page.keyboard.press('Escape');
    await at.finds('crashes at start');
  });

  it('what somebody else changed meanwhile is told, and goes at the second press', async () => {
    const { at, tenant, open } = opened();
    await tenant.publish('1.0.0', { rollout: 5 });
    await open('/stable/1.0.0');
    await at.press('50 %');
    const dialog = await at.ask('Raise to 50 %…', 'Raise to 50 %');
    await tenant.control('1.0.0', { rollout: 10 });
    await dialog.press('Raise to 50 %');
    await dialog.warns('it is published, at 10 %');
    expect(await served('1.0.0')).toEqual(['published', 10]);
    await dialog.send('Raise to 50 %');
    expect(await served('1.0.0')).toEqual(['published', 50]);
  });

  it('what steers is shown once it stays where it is, and old numbers say so when the connection hangs', async () => {
    const { at, page, tab, tenant, place, open } = opened();
    await tenant.publish('1.0.0', { rollout: 10 });
    for (const [path, late, act] of [
      ['/stable/1.0.0', 'releases/plan?', '50 %'],
      ['/stable', 'channel?', 'Publish release'],
    ] as const) {
      const held: (() => Promise<void>)[] = [];
      let isLate = true;
      const isIts = (url: URL) => url.href.includes(`/console/api/${late}`);
      await page.route(isIts, (route) => {
        const go = () => route.continue();
        return isLate ? void held.push(go) : go();
      });
      await page.goto(place(path));
      await page.getByText('as of').first().waitFor({ state: 'attached' });
      await eventually('the rest is asked for', () => held.length > 0);
      expect(await at.button(act).isVisible()).toBe(false);
      isLate = false;
      await Promise.all(held.map((go) => go()));
      await at.button(act).waitFor();
      await page.unroute(isIts);
    }
    await tab.context.addInitScript(DEADLINES_OF_PAGE);
    await open('/stable/1.0.0');
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

  /** Returns the channel and status of every release. */
  async function statuses(): Promise<unknown[]> {
    const releases = await opened().tenant.releases();
    return releases.map(({ channel, status }) => `${channel} ${status}`).sort();
  }

  it('a stop says how many it stops, stops what others raised meanwhile, and ends', async () => {
    const { at, tenant, open } = opened();
    await tenant.publish('1.0.0', { rollout: 10 });
    await tenant.publish('2.0.0', { channel: 'beta' });
    const [one, two] = machines(2, { version: '0.9.0' });
    await tenant.report([one, { ...two, channel: 'beta' }]);
    await open('/stable');
    const dialog = await at.opens('Stop…', /^Stop /);
    await dialog.reads('It pauses 2 published releases, for 2 devices');
    await dialog.choose('What', { label: 'Only stable' });
    await dialog.reads('It pauses 1 published release, for 1 device');
    await dialog.choose('What', { label: 'All channels' });
    await dialog.reads('It pauses 2 published releases, for 2 devices');
    expect((await tenant.control('1.0.0', { rollout: 80 })).status).toBe(200);
    await dialog.fill('Reason', 'they crash');
    await dialog.press('Stop all of it');
    await at.reads('2 releases stopped');
    expect(await statuses()).toEqual(['beta paused', 'stable paused']);
    await tenant.control('1.0.0', { status: 'paused' });
    await at.press('Resume…');
    await at.dialog('Resume what was stopped').press('Resume');
    await at.reads('1 release published again.', 'stable 1.0.0 is left as it is.');
    expect(await statuses()).toEqual(['beta published', 'stable paused']);
  });

  it('on a phone a release is paused with three taps from the first page, without scrolling', async () => {
    const { at, page, tenant } = opened();
    const size = { width: 390, height: 844 };
    await page.setViewportSize(size);
    await tenant.publish('1.0.0', { rollout: 10 });
    await visit(page, '/console/apps');
    const presses = await countPresses(page);
    const tap = async (target: Locator) => {
      await target.waitFor();
      const box = await target.boundingBox();
      expect((box?.y ?? size.height) + (box?.height ?? 0)).toBeLessThanOrEqual(size.height);
      await target.click();
    };
    await tap(at.link('1.0.0').first());
    await tap(at.button('Pause…'));
    const dialog = at.dialog('Pause 1.0.0');
    await dialog.place.getByRole('status', { name: 'What it would do' }).waitFor();
    await tap(dialog.button('Pause 1.0.0'));
    await gone(dialog);
    expect(await presses()).toBe(3);
    expect(await statuses()).toEqual(['stable paused']);
  });
});
