// Devices that speak DDI in the browser (docs/contract.md 34.50 to 34.52): the action of one, the release
// that it does not get again, why it gets nothing, and how a person lets it, or all of them, try again.

import { expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeOwnerTab } from '../support/browser.ts';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { randomId } from '../support/tenant.ts';

const HOSTILE = '<img src=x onerror="alert(1)">';
const FILE = {
  platform: 'linux',
  url: 'https://dl.example.com/files/image.swu',
  size: 1000,
  sha1: 'a'.repeat(40),
};

describeOwnerTab('a device that speaks DDI at the console', (opened, node) => {
  it('shows why it failed and that it does not try again, until a person lets it', async () => {
    const { at, page, tenant, open, soon } = opened();
    await tenant.openDdi({ retries: 0 });
    const device = new DdiDevice(node, tenant.app, `d-${randomId()}`, {
      machine: 'linux/x86_64/1.0.0',
    });
    await eventually('the channel answers', async () => (await device.ask('GET')).status === 200);
    await device.tell({});
    await tenant.release('2.0.0', { artifacts: [FILE] });
    let deployment: string | undefined;
    const untilOffered = () =>
      eventually('it is offered the release', async () => {
        deployment = (await device.poll()).deployment;
        return deployment !== undefined;
      });
    await untilOffered();
    await device.report(deployment, 'failure', 'closed', [HOSTILE]);
    await open(`/devices/${device.id}`);
    const installation = at.region('Installation');
    await installation.reads(`It failed to install this: “${HOSTILE}”.`);
    await installation.reads(`The device knows it as action ${deployment}.`);
    await installation.reads('It failed to install this, and does not get it again.');
    await at.region('What it would get now').reads('Not again');
    expect(await faultsOn(page)).toEqual([]);

    const [one, all] = ['Let this device try again', 'Let devices try again'];
    await (await at.opens(`${one}… 2.0.0`, one)).press(one);
    await at.dialog(one).reads('1 device can have 2.0.0 again.');
    await at.dialog(one).send('Done');
    await soon(at.button(`${one}… 2.0.0`), 'detached');
    await untilOffered();
    await device.report(deployment, 'failure');

    await open('/stable/2.0.0');
    await at.chooseMore(all);
    await at.dialog(all).press(all);
    await at.dialog(all).reads('1 device can have 2.0.0 again.');
    await at.dialog(all).send('Done');
    await untilOffered();
  });
});
