// Tests that a closing at a node that has lost Redis counts, once it is answered, at a node that has it
// (docs/contract.md 34.36): the first waits a second for the second, which follows PostgreSQL by turns.

import { expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type ClusterNode, startCluster } from '../support/cluster.ts';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { own } from '../support/own.ts';
import { createTenant } from '../support/tenant.ts';

const FILE = { platform: 'linux', url: 'https://dl.example.com/i.swu', size: 9 };
const DEVICES = 5;

describeOnRealStores('a closing without Redis', () => {
  it('counts at the next poll of a node that has it', async () => {
    const cluster = await startCluster();
    own(cluster);
    const [here, lost] = await Promise.all([cluster.addNode(), cluster.addNode()]);
    const tenant = await createTenant(here);
    await tenant.openDdi();
    await tenant.release('2.0.0', { artifacts: [{ ...FILE, sha1: 'a'.repeat(40) }] });
    const machine = 'linux/x86_64/1.0.0';
    const at = (node: ClusterNode, id: string) => new DdiDevice(node, tenant.app, id, { machine });
    for (const node of [here, lost]) {
      const isAnswered = async () => (await at(node, 'first').ask('GET')).status === 200;
      await eventually('it answers DDI', isAnswered);
    }
    const ids = Array.from({ length: DEVICES }, (_, index) => `device-${index}`);
    const actions = await Promise.all(ids.map((id) => openAction(at(here, id))));
    await eventually('PostgreSQL has the actions', async () => {
      // The attributes were the first change of each.
      const { rows } = await cluster.query('SELECT FROM device_actions WHERE revision > 1');
      return rows.length >= DEVICES;
    });
    await lost.redisProxy.close();
    await Promise.all(
      ids.map(async (id, index) => {
        await at(lost, id).untilClosed(actions[index], 'success');
        expect((await at(here, id).poll()).deployment).toBeUndefined();
      }),
    );
  });
});

/** Has a device tell attributes, which puts it on record, and poll; returns its action. */
async function openAction(device: DdiDevice): Promise<string | undefined> {
  await device.tell({});
  const { deployment } = await device.poll();
  expect(deployment).toBeDefined();
  return deployment;
}
