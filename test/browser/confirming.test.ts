// Walks through the acts that offer a release to many devices, in the browser: each shows what it will do and
// asks first; what stops a release never waits for an answer to something else.

import type { Locator, Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { chooseMore, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { goOn, toStep } from '../support/dialog-steps.ts';
import { eventually } from '../support/eventually.ts';
import { eachOwnerTab } from '../support/owner-tab.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin, manage, publish, report, type Tenant } from '../support/tenant.ts';

const DEVICES = 40;

describeInBrowser('acts that reach many devices', (browser) => {
  const node = sharedNode();
  let page: Page;
  let tenant: Tenant;
  let tab: Tab;
  eachOwnerTab(browser, node, (opened) => {
    ({ page, tenant, tab } = opened);
  });

  const button = (name: string, within: Page | Locator = page) =>
    within.getByRole('button', { name, exact: true });

  async function fleet(channel = 'stable'): Promise<void> {
    const devices = Array.from({ length: DEVICES }, (_, index) => ({
      deviceId: `device-${index}`,
      ...{ channel, version: '0.9.0', platform: 'linux', arch: 'x86_64' },
    }));
    expect((await report(node, tenant, devices)).status).toBe(200);
  }

  async function stateOf(channel: string, version: string): Promise<unknown> {
    const query = `releases?app=${tenant.app}&channel=${channel}&version=${version}`;
    const { body } = await manage(node, tenant, 'GET', query);
    const [release] = (body as { releases: Record<string, unknown>[] }).releases;
    return release === undefined ? undefined : [release.status, release.rolloutPct];
  }

  /** Expects that the act waits for its confirmation, and gives it. */
  async function confirmed(dialog: Locator, act: string): Promise<void> {
    const question = dialog.getByLabel(`${DEVICES} more devices are offered it now`);
    await question.waitFor();
    expect(await button(act, dialog).isDisabled()).toBe(true);
    await question.check();
    await button(act, dialog).click();
  }

  it('a paused release is not promoted by two clicks; by a plan it is', async () => {
    await fleet();
    await publish(node, tenant, '1.0.0', { channel: 'beta', status: 'paused' });
    await visit(page, `/console/apps/${tenant.app}/beta/1.0.0`);
    await chooseMore(page, 'Promote…');
    const dialog = page.getByRole('dialog', { name: 'Promote 1.0.0' });
    await goOn(dialog);
    await dialog.getByRole('alert').getByText('It is paused on beta. Say rollout, plan').waitFor();
    expect(await button('Promote to stable', dialog).count()).toBe(0);
    await dialog.getByLabel('Share (%)').fill('100');
    await toStep(dialog, 'Review');
    await dialog.getByText('It is paused on beta').waitFor();
    await dialog.getByLabel(`${DEVICES} more devices are offered it now`).waitFor();
    expect(await button('Promote to stable', dialog).isDisabled()).toBe(true);
    await button('Back', dialog).click();
    await dialog.getByLabel('By a plan').check();
    await dialog.getByLabel('Preset').selectOption('careful');
    await toStep(dialog, 'Review');
    await dialog
      .getByText(`Of ${DEVICES} devices seen in the last 30 days, 0 are offered`)
      .waitFor();
    await button('Promote to stable', dialog).click();
    await page.waitForURL(`**/stable/1.0.0`);
    await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
    const plan = await admin(
      node,
      'GET',
      `releases/plan?app=${tenant.app}&channel=stable&version=1.0.0`,
    );
    expect(plan.body).toMatchObject({ plan: { status: 'running' } });
  });

  it('a promotion, a publish and a resume to every device are confirmed with their number', async () => {
    await fleet();
    await publish(node, tenant, '1.0.0', { channel: 'beta' });
    await visit(page, `/console/apps/${tenant.app}/beta/1.0.0`);
    await chooseMore(page, 'Promote…');
    const promoting = page.getByRole('dialog', { name: 'Promote 1.0.0' });
    await toStep(promoting, 'Review');
    await promoting.getByText('It begins at 100 % on stable.').waitFor();
    await confirmed(promoting, 'Promote to stable');
    await page.waitForURL(`**/stable/1.0.0`);
    expect(await stateOf('stable', '1.0.0')).toEqual(['published', 100]);

    await chooseMore(page, 'Publish next…');
    const publishing = page.getByRole('dialog', { name: 'Publish to stable' });
    await publishing.getByLabel('Version').fill('1.1.0');
    await toStep(publishing, 'Review');
    // It has the files of 1.0.0 still, which is an error (§23.3).
    await confirmed(publishing, 'Publish anyway');
    await page.getByRole('heading', { name: '1.1.0' }).waitFor();

    const name = { app: tenant.app, channel: 'stable', version: '1.1.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...name, status: 'paused' });
    await button('Resume…').click();
    await confirmed(page.getByRole('dialog', { name: 'Resume 1.1.0' }), 'Resume 1.1.0');
    await button('Pause…').waitFor();
    expect(await stateOf('stable', '1.1.0')).toEqual(['published', 100]);
  });

  it('a review that the service has no time for is confirmed without its number', async () => {
    await fleet();
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await button('Publish release').click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByLabel('Version').fill('1.0.0');
    const json = { error: 'Too much at once' };
    await page.route('**/releases/rehearse', (route) => route.fulfill({ status: 503, json }));
    await toStep(dialog, 'Review');
    await dialog.getByText('The effect cannot be shown: Too much at once').waitFor();
    expect(await button('Publish', dialog).isDisabled()).toBe(true);
    await dialog.getByLabel('how many devices are offered it is not known').check();
    await button('Publish', dialog).click();
    await page.getByRole('heading', { name: '1.0.0' }).waitFor();
    await page.unroute('**/releases/rehearse');
  });

  it('the next step of a plan says its share and its number, and is confirmed', async () => {
    await fleet();
    await publish(node, tenant, '1.0.0', { rollout: 0, status: 'paused' });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const startAt = new Date(Date.now() + 86_400_000).toISOString();
    const steps = [{ rollout: 100, holdMinutes: 60 }];
    const made = await manage(node, tenant, 'PUT', 'releases/plan', { ...name, steps, startAt });
    expect(made.status).toBe(200);
    await manage(node, tenant, 'PATCH', 'releases', { ...name, status: 'published' });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await button('Go to 100 % now…').click();
    const dialog = page.getByRole('dialog', { name: 'Go to 100 % now: 1.0.0' });
    await confirmed(dialog, 'Go to 100 % now');
    await page.getByRole('img', { name: 'Rollout: 100 %' }).waitFor();
  });

  it('a pause stays in its place, and is never refused because of a raise meanwhile', async () => {
    await fleet();
    await publish(node, tenant, '1.0.0', { rollout: 30 });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    const held: Route[] = [];
    const hold = (route: Route) => void held.push(route);
    await page.route('**/releases/rehearse-serving', hold, { times: 1 });
    await button('Pause…').click();
    const dialog = page.getByRole('dialog', { name: 'Pause 1.0.0' });
    await eventually('its effect is asked for', () => held.length > 0);
    const place = () => button('Pause 1.0.0', dialog).boundingBox();
    const early = await place();
    await held[0]?.continue();
    await dialog.getByText('will no longer be offered an update').waitFor();
    expect(await place()).toEqual(early);
    await dialog.getByLabel('Reason').fill('crashes');
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...name, rollout: 45 });
    await button('Pause 1.0.0', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stateOf('stable', '1.0.0')).toEqual(['paused', 45]);
  });

  it('a raise that was refused for the state it was meant for goes at the second press', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 5 });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await button('50 %').click();
    await button('Raise to 50 %…').click();
    const dialog = page.getByRole('dialog', { name: 'Raise to 50 %' });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await manage(node, tenant, 'PATCH', 'releases', { ...name, rollout: 10 });
    await button('Raise to 50 %', dialog).click();
    await dialog.getByRole('alert').getByText('it is published, at 10 %').waitFor();
    await button('Raise to 50 %', dialog).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stateOf('stable', '1.0.0')).toEqual(['published', 50]);
  });

  it('a raise says what the plan of the release does afterwards', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 5 });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const steps = [
      { rollout: 10, holdMinutes: 60 },
      { rollout: 20, holdMinutes: 120 },
      { rollout: 100, holdMinutes: 60 },
    ];
    const startAt = new Date(Date.now() + 86_400_000).toISOString();
    const planned = await manage(node, tenant, 'PUT', 'releases/plan', { ...name, steps, startAt });
    expect(planned.status, planned.text).toBe(200);
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await button('50 %').click();
    await button('Raise to 50 %…').click();
    const dialog = page.getByRole('dialog', { name: 'Raise to 50 %' });
    await dialog.getByText('Its plan begins: ').waitFor();
  });

  it('the question before what was entered is lost is in sight, and Cancel asks it too', async () => {
    await page.setViewportSize({ width: 1280, height: 500 });
    await visit(page, `/console/apps/${tenant.app}/stable`);
    await button('Publish release').click();
    const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
    await dialog.getByLabel('Version').fill('1.0.0');
    await button('Cancel', dialog).scrollIntoViewIfNeeded();
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => button('Cancel', dialog).click(),
    ]) {
      await leave();
      const stay = button('Keep editing', dialog);
      await stay.waitFor();
      // Playwright clicks only what is in sight and not covered.
      await stay.click({ trial: true });
      const box = await stay.boundingBox();
      const top = await page.evaluate(
        ([x, y]) => document.elementFromPoint(x ?? 0, y ?? 0)?.textContent,
        [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5],
      );
      expect(top).toBe('Keep editing');
      await stay.click();
      await stay.waitFor({ state: 'detached' });
    }
    expect(await dialog.getByLabel('Version').inputValue()).toBe('1.0.0');
    await button('Cancel', dialog).click();
    await button('Discard', dialog).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('a release below one that every device is offered is not said to be rolling out', async () => {
    await fleet();
    await publish(node, tenant, '1.0.0', { rollout: 45 });
    await publish(node, tenant, '2.0.0');
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await page.getByText('Not offered: 2.0.0 is newer.').waitFor();
    await page.getByText('Superseded').waitFor();
    expect(await page.getByText('Rolling out').count()).toBe(0);
  });

  it('a dialog stays open when the right ends meanwhile, and says so', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 5 });
    await visit(page, `/console/apps/${tenant.app}/stable/1.0.0`);
    await button('Pause…').click();
    const dialog = page.getByRole('dialog', { name: 'Pause 1.0.0' });
    await page.route('**/console/api/releases', (route) =>
      route.fulfill({ status: 403, json: { error: 'Your role may not do this' } }),
    );
    await button('Pause 1.0.0', dialog).click();
    await dialog.getByRole('alert').getByText('Your role may not do this').waitFor();
    await page.unroute('**/console/api/releases');
    await tab.context.clearCookies();
  });
});
