// The page of a device that speaks DDI in the browser (docs/contract.md 34.50 and 34.51): its action, the
// release that it does not get again, and why it gets nothing.

import { expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeOwnerTab } from '../support/browser.ts';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { admin, randomId } from '../support/tenant.ts';

const HOSTILE = '<img src=x onerror="alert(1)">';
const FILE = {
  platform: 'linux',
  url: 'https://dl.example.com/files/image.swu',
  size: 1000,
  sha1: 'a'.repeat(40),
};

describeOwnerTab('a device that speaks DDI at the console', (opened, node) => {
  it('shows why it failed, that it does not try again, and who can change that', async () => {
    const { at, page, tenant, open } = opened();
    await admin(node, 'PATCH', 'apps', { app: tenant.app, ddiAuth: 'open' });
    await tenant.setChannel({ ddi: { retries: 0 } });
    const device = new DdiDevice(node, tenant.app, `d-${randomId()}`, {
      machine: 'linux/x86_64/1.0.0',
    });
    await eventually('the channel answers', async () => (await device.ask('GET')).status === 200);
    await device.tell({});
    await tenant.release('2.0.0', { artifacts: [FILE] });
    let deployment: string | undefined;
    await eventually('it is offered the release', async () => {
      deployment = (await device.poll()).deployment;
      return deployment !== undefined;
    });
    await device.report(deployment, 'failure', 'closed', [HOSTILE]);
    await open(`/devices/${device.id}`);
    const installation = at.region('Installation');
    await installation.reads(`It failed to install this: “${HOSTILE}”.`);
    await installation.reads(`The device knows it as action ${deployment}.`);
    await installation.reads('It failed to install this, and does not get it again.');
    await at.region('What it would get now').reads('Not again');
    expect(await faultsOn(page)).toEqual([]);
  });
});
