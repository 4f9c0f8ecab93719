// Looks at the failure breakdown of a release in the browser: where the devices are, why they failed, and
// which.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { member } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';
import {
  admin,
  check,
  createTenant,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const HOSTILE = '<img src=x onerror="alert(1)">';

describeInBrowser('failure breakdown of a release at the console', (browser) => {
  const node = sharedNode();
  let tenant: Tenant;
  let tab: Tab;
  let page: Page;
  beforeAll(async () => {
    tenant = await createTenant(node);
    const owner = await member(node, tenant.org, 'owner');
    await liveThrough();
    tab = await openTab(browser(), node, { token: owner.token });
    page = tab.page;
  });
  afterAll(async () => {
    expect(await tab?.complaints()).toEqual([]);
    await tab?.close();
  });

  const region = (name: string) => page.getByRole('region', { name });
  const release = () => `/console/apps/${tenant.app}/stable/1.0.0`;

  /**
   * Twelve devices, half of them on Windows, which were offered 1.0.0: eight came to it, of which three went
   * back; one says that it failed.
   */
  async function liveThrough(): Promise<void> {
    const machines = Array.from({ length: 12 }, (_, index) => ({
      ...{ deviceId: `machine ${index}`, platform: index % 2 === 0 ? 'windows' : 'linux' },
    }));
    const run = async (version: string, from: number, to: number) => {
      const devices = machines.slice(from, to).map((each) => ({ ...each, version }));
      expect((await report(node, tenant, devices)).status).toBe(200);
    };
    await run('0.9.0', 0, 12);
    expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
    for (const { deviceId: device } of machines) {
      expect((await check(node, tenant, '0.9.0', { device })).status).toBe(200);
    }
    await run('1.0.0', 0, 8);
    await run('0.9.0', 0, 3);
    const failed = await send(node, 'POST', `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`, {
      body: { version: '1.0.0', reason: HOSTILE },
      headers: { 'x-service-device': 'machine 11' },
    });
    expect(failed.status).toBe(204);
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const steps = [{ rollout: 100, holdMinutes: 600 }];
    const guards = { minimumDevices: 10, knownForMinutes: 0 };
    const made = await admin(node, 'POST', 'releases/plan', { ...name, steps, guards });
    expect(made.status).toBe(200);
    // The offers are recorded a moment after the checks, and the failure counts from then on.
    await eventually('all is on record', async () => {
      const query = new URLSearchParams({ ...name });
      const { body } = await admin(node, 'GET', `releases/plan?${query}`);
      const { health } = body as { health: { offered: number; failed: number } };
      return health.offered === 12 && health.failed === 1;
    });
  }

  it('says where the devices are, and leads to them', async () => {
    await page.goto(release());
    const trouble = region('Where the trouble is');
    const reverted = trouble.getByRole('list', { name: 'reverted by platform' });
    await reverted.waitFor();
    expect(await reverted.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^windows.*2 of 4 · 50\u00a0%$/),
      expect.stringMatching(/^linux.*1 of 4 · 25\u00a0%$/),
    ]);
    const { length } = await trouble.getByText('The only version before: 0.9.0').all();
    expect(length).toBeGreaterThan(0);
    const health = region('Health');
    await health.getByRole('row', { name: /^stuck.*no data yet/ }).waitFor();
    await health.getByRole('row', { name: /^silent.*no data yet/ }).waitFor();
    await health
      .getByRole('row', { name: /^reverted/ })
      .getByRole('link', { name: '3' })
      .click();
    const devices = page.getByRole('table', { name: 'Devices that are reverted' });
    await devices.getByText('machine 0').waitFor();
    expect((await devices.getByRole('link').allTextContents()).sort()).toEqual([
      ...['machine 0', 'machine 1', 'machine 2'],
    ]);
    expect(await faultsOn(page)).toEqual([]);
    await page.getByLabel('Signal', { exact: true }).selectOption('failed');
    const failed = page.getByRole('table', { name: 'Devices that are failed' });
    await failed.getByText('machine 11').waitFor();
    await page.getByLabel('Channel', { exact: true }).selectOption('');
    await page.getByText('A signal is one of a release').waitFor();
  });

  it('shows the reasons of devices as text, and how the release spreads', async () => {
    await page.goto(release());
    const reasons = page.getByRole('table', { name: /Reasons of failures/ });
    await reasons.getByText(HOSTILE).waitFor();
    expect(await reasons.locator('img').count()).toBe(0);
    const spread = page.getByRole('table', { name: 'Devices on each release at the same age' });
    await spread.getByRole('row', { name: /^Now, after 1 h 66\.7\s% 8 of 12/ }).waitFor();
    await region('Adoption at the same age').locator('canvas').waitFor();
    await region('Adoption at the same age')
      .getByText('No release was published on the channel before it')
      .waitFor();
    expect(await faultsOn(page)).toEqual([]);
  });
});
