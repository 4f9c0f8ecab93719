// The failure breakdown of a release in the browser: where the devices are, why they failed, which, and how
// the release spreads.

import { expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeOwnerTab } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { machine } from '../support/fleet-of.ts';
import { admin, send, type Tenant } from '../support/tenant.ts';

const HOSTILE = '<img src=x onerror="alert(1)">';

describeOwnerTab('failure breakdown of a release at the console', (opened, node) => {
  /**
   * Twelve devices, half of them on Windows, which were offered 1.0.0: eight came to it, of which three went
   * back; one says that it failed.
   */
  async function liveThrough(tenant: Tenant): Promise<void> {
    const names = Array.from({ length: 12 }, (_, index) => `machine ${index}`);
    const run = async (version: string, to: number) => {
      const devices = names.slice(0, to).map((name, index) => {
        return machine(name, { version, platform: index % 2 === 0 ? 'windows' : 'linux' });
      });
      expect((await tenant.report(devices)).status).toBe(200);
    };
    await run('0.9.0', 12);
    expect((await tenant.publish('1.0.0')).status).toBe(201);
    for (const device of names) {
      expect((await tenant.check('0.9.0', { device })).status).toBe(200);
    }
    await run('1.0.0', 8);
    await run('0.9.0', 3);
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
      const { health } = (await tenant.plan('1.0.0')) as {
        health: { offered: number; failed: number };
      };
      return health.offered === 12 && health.failed === 1;
    });
  }

  it('says where the devices are and why they failed, as text, how it spreads, and leads to them', async () => {
    const { at, page, tenant, open } = opened();
    await liveThrough(tenant);
    await open('/stable/1.0.0');
    const trouble = at.region('Where the trouble is');
    const reverted = trouble.place.getByRole('list', { name: 'reverted by platform' });
    await reverted.waitFor();
    expect(await reverted.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^windows.*2 of 4 · 50\u00a0%$/),
      expect.stringMatching(/^linux.*1 of 4 · 25\u00a0%$/),
    ]);
    const { length } = await trouble.place.getByText('The only version before: 0.9.0').all();
    expect(length).toBeGreaterThan(0);
    const reasons = at.table(/Reasons of failures/);
    await reasons.reads(HOSTILE);
    expect(await reasons.place.locator('img').count()).toBe(0);
    const spread = at.table('Devices on each release at the same age');
    await spread.row(/^Now, after 1 h 66\.7\s% 8 of 12/).waitFor();
    const adoption = at.region('Adoption at the same age');
    await adoption.place.locator('canvas').waitFor();
    await adoption.reads('No release was published on the channel before it');
    expect(await faultsOn(page)).toEqual([]);
    const health = at.region('Health');
    await health.row(/^stuck.*no data yet/).waitFor();
    await health.row(/^silent.*no data yet/).waitFor();
    await health
      .row(/^reverted/)
      .getByRole('link', { name: '3' })
      .click();
    const devices = at.table('Devices that are reverted');
    await devices.reads('machine 0');
    expect((await devices.place.getByRole('link').allTextContents()).sort()).toEqual([
      ...['machine 0', 'machine 1', 'machine 2'],
    ]);
    expect(await faultsOn(page)).toEqual([]);
    await at.choose('Signal', 'failed');
    await at.table('Devices that are failed').reads('machine 11');
    await at.choose('Channel', '');
    await at.reads('A signal is one of a release');
  });
});
