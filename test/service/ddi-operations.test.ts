// Tests what people and programs do about devices that speak DDI (docs/contract.md 34.50 to 34.52): they
// let them have a release again, read their actions, ask why they get what they get, and report versions.

import { expect, it } from 'vitest';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { admin, type Json, randomId } from '../support/tenant.ts';

const FILE = {
  platform: 'linux',
  url: 'https://dl.example.com/files/image.swu',
  size: 1000,
  sha1: 'a'.repeat(40),
  sha256: 'b'.repeat(64),
};

serviceSuite('operations on devices that speak DDI', (node) => {
  const tenant = testTenant(node);

  const publish = () => tenant.release('2.0.0', { artifacts: [FILE] });

  /** A device on record, whose version is its address's or, if that has none, not told yet. */
  async function recorded(machine?: string): Promise<DdiDevice> {
    const options = machine === undefined ? {} : { machine };
    const made = new DdiDevice(node, tenant.app, `d-${randomId()}`, options);
    await eventually('the channel answers DDI', async () => (await made.ask('GET')).status === 200);
    await made.tell({});
    return made;
  }
  const OLD = 'linux/x86_64/1.0.0';

  /** Lets a device fail to install what it is offered; returns the action. */
  async function fail(made: DdiDevice): Promise<string> {
    let deployment: string | undefined;
    await eventually('it is offered something', async () => {
      deployment = (await made.poll()).deployment;
      return deployment !== undefined;
    });
    await made.report(deployment, 'failure', 'closed', ['no space left']);
    expect((await made.poll()).deployment).toBeUndefined();
    return deployment ?? '';
  }

  const retry = (more: Json = {}) =>
    tenant.manage('POST', 'releases/retry', {
      ...{ app: tenant.app, channel: 'stable', version: '2.0.0', ...more },
    });

  it('get a release again, all of them or those that are named (34.52)', async () => {
    await tenant.openDdi({ retries: 0 });
    await publish();
    const [one, other] = [await recorded(OLD), await recorded(OLD)];
    const ended = [await fail(one), await fail(other)];
    const release = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    expect((await retry({ reason: 'mended' })).body).toEqual({ release, devices: 2 });
    expect(ended).not.toContain(await fail(one));
    expect((await retry()).body).toEqual({ release, devices: 1 });
    await fail(one);
    await fail(other);
    const deviceIds = [one.id, one.id, `d-${randomId()}`];
    expect((await retry({ deviceIds })).body).toEqual({ release, devices: 1 });
    expect((await one.poll()).deployment).toBeDefined();
    expect((await other.poll()).deployment).toBeUndefined();
    const entries = await tenant.audit('limit=1000&action=release.retry');
    expect(entries.map(({ after, reason }) => [after, reason])).toEqual([
      [{ devices: 2 }, null],
      [{ devices: 'all', bars: 1 }, null],
      [{ devices: 'all', bars: 2 }, 'mended'],
    ]);
  });

  it('are read with what they install, and with what they do not get again (34.50)', async () => {
    await tenant.openDdi({ retries: 0 });
    // Reasons are kept of devices that were on record before the release was published (§27.9).
    const made = await recorded(OLD);
    await publish();
    const read = async () => {
      const answer = await tenant.manage('GET', `devices/${made.id}?app=${tenant.app}`);
      const { action, barred } = (answer.body?.device ?? {}) as Json;
      return { action, barred };
    };
    expect(await read()).toEqual({ action: null, barred: [] });
    const id = await fail(made);
    await eventually('the reason is on record', async () => {
      const { action } = await read();
      return (action as Json).reason !== null;
    });
    const reason = 'no space left';
    expect(await read()).toMatchObject({
      action: { id, version: '2.0.0', state: 'failed', reason },
      barred: [{ version: '2.0.0', result: 'failed', until: null }],
    });
    const page = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=${made.id}`);
    expect(page.body).toMatchObject(await read());
    await retry();
    expect(await read()).toMatchObject({ action: { id }, barred: [] });
  });

  it('are explained as their next poll is decided (34.51)', async () => {
    await tenant.openDdi({ retries: 0 });
    await publish();
    const [silent, made] = [await recorded(), await recorded(OLD)];
    const explained = async ({ id }: DdiDevice) => {
      const answer = await tenant.manage('GET', `explain?app=${tenant.app}&deviceId=${id}`);
      const { decision, candidates } = (answer.body ?? {}) as Record<string, Json>;
      const query = `decision?app=${tenant.app}&deviceId=${id}`;
      const { body } = await admin(node, 'GET', query);
      expect(body?.reason).toBe(decision?.reason);
      return { decision, candidates };
    };
    const nothing = (reason: string) => ({ update: null, reason });
    expect(await explained(silent)).toEqual({
      decision: nothing('unknown-version'),
      candidates: [],
    });
    expect(await explained(made)).toMatchObject({ decision: { reason: 'offered' } });
    await fail(made);
    expect(await explained(made)).toMatchObject({
      decision: nothing('barred'),
      candidates: [{ version: '2.0.0', verdict: 'barred' }],
    });
  });

  it('run what a fleet report says, which ends the action for that version', async () => {
    await tenant.openDdi();
    await publish();
    const made = await recorded();
    const report = (version: string) =>
      tenant.report([{ deviceId: made.id, version, platform: 'linux' }]);
    let deployment: string | undefined;
    await eventually('the device is on record with its attributes', async () => {
      await report('1.0.0');
      deployment = (await made.poll()).deployment;
      return deployment !== undefined;
    });
    await report('2.0.0');
    expect((await made.poll()).deployment).toBeUndefined();
    const { body } = await tenant.manage('GET', `devices/${made.id}?app=${tenant.app}`);
    expect(body?.device).toMatchObject({ action: { id: deployment, state: 'succeeded' } });
    await report('1.0.0');
    const again = (await made.poll()).deployment;
    expect([again === undefined, again === deployment]).toEqual([false, false]);
  });

  it('get again what is published alone (34.52)', async () => {
    await tenant.openDdi();
    await publish();
    await tenant.serve('2.0.0', { status: 'paused' });
    for (const more of [{}, { deviceIds: ['a'] }]) {
      expectError(await retry(more), 409, 'This release is not published');
    }
    expectError(await retry({ version: '3.0.0' }), 404, 'Unknown release');
  });
});
