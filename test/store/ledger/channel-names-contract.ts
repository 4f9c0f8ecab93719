// Rules of the list of all channels' names.

import { expect, test } from 'vitest';
import { createTenant, expectValue, OPERATOR } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const COUNT_MAX = 100_000;

export function describeChannelNames({ database, ledger }: LedgerUnderTest): void {
  /** Reads the list whole. */
  async function list() {
    const listed = await ledger.listChannelNames(undefined, COUNT_MAX);
    if (listed === undefined) throw new Error('no list');
    return listed;
  }

  test('every channel of every organization is listed, with all its names, up to a number', async () => {
    const one = await createTenant(ledger, ['stable', 'beta']);
    const other = await createTenant(ledger, ['stable']);
    // More than a page of the list has.
    const many = await createTenant(ledger, []);
    await database.query(
      `INSERT INTO channels (id, app_id, name)
       SELECT $1::text || n, $1, 'c' || n FROM generate_series(1, 2100) AS n`,
      [many.appId],
    );
    const { channels, isComplete } = await list();
    expect(isComplete).toBe(true);
    const own = channels.filter(({ appRef }) => appRef === many.app);
    expect(new Set(own.map(({ channel }) => channel)).size).toBe(2100);
    expect(own).toHaveLength(2100);
    const cut = await ledger.listChannelNames(undefined, channels.length - 1);
    expect(cut).toMatchObject({ isComplete: false, channels: channels.slice(0, -1) });
    for (const { app, appId } of [one, other]) {
      const ids = new Map(
        channels.filter((each) => each.appId === appId).map((each) => [each.channel, each]),
      );
      for (const [channel, { appRef, channelId }] of ids) {
        expect(appRef).toBe(app);
        const snapshot = await ledger.readSnapshot(app, channel);
        expect(snapshot).toMatchObject({ appId, channelId });
      }
      expect([...ids.keys()].sort()).toEqual(app === one.app ? ['beta', 'stable'] : ['stable']);
    }
  });

  test('the tag says whether the list is the same; only another channel changes it', async () => {
    const tenant = await createTenant(ledger, ['stable']);
    const { tag } = await list();
    expect(await ledger.listChannelNames(tag, COUNT_MAX)).toBeUndefined();
    await tenant.setChannel({ defaultRollout: 10 });
    expect(await ledger.listChannelNames(tag, COUNT_MAX)).toBeUndefined();
    expectValue(await ledger.createChannel(tenant.app, 'nightly', OPERATOR));
    const later = await ledger.listChannelNames(tag, COUNT_MAX);
    expect(later?.tag).not.toBe(tag);
    const { appId } = tenant;
    const own = later?.channels.filter((each) => each.appId === appId);
    expect(own?.map(({ channel }) => channel).sort()).toEqual(['nightly', 'stable']);
  });
}
