// Tests the poll that finds changes without an announcement: each channel by itself, one poll at a time, and
// no poll left behind by a stop.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { ledgerAway } from '../support/fake-ledger.ts';
import { channelAt, engineAway, servedRevision, servingNode, settle } from './serving-node.ts';

const CHANNELS = ['alpha', 'beta', 'stable'] as const;
const POLL_WITHIN_MS = 1500;

afterEach(() => vi.useRealTimers());

/** A node that holds three channels at revision 1, and its refresher. */
async function polledNode() {
  const node = servingNode();
  for (const channel of CHANNELS) node.ledger.commit(channelAt(1, channel));
  for (const channel of CHANNELS) await node.catalogs.find('acme', channel);
  const served = () => CHANNELS.map((channel) => servedRevision(node, channel));
  const publish = (revision: number) => {
    for (const channel of CHANNELS) node.ledger.commit(channelAt(revision, channel));
  };
  return { ...node, served, publish };
}

describe('a poll', () => {
  it('of channels that are up to date reads none of them', async () => {
    const { refresher, ledger } = await polledNode();
    await refresher.poll();
    expect(ledger.polls).toBe(1);
    expect(ledger.reads).toHaveLength(CHANNELS.length);
  });

  it('of a node that holds nothing asks nothing', async () => {
    const { refresher, ledger } = servingNode();
    await refresher.poll();
    expect(ledger.polls).toBe(0);
  });

  it.each([
    ['is away', ledgerAway()],
    ['is broken', new TypeError('bug')],
  ])(
    'of three channels behind, the first of which %s, refreshes the others; the first at the next',
    async (_what, fault) => {
      const { refresher, ledger, engine, publish, served } = await polledNode();
      publish(2);
      ledger.readFaults.set('acme/alpha', fault);
      await refresher.poll();
      expect(served()).toEqual([1, 2, 2]);
      await refresher.poll();
      expect(served()).toEqual([1, 2, 2]);
      ledger.readFaults.clear();
      await refresher.poll();
      expect(served()).toEqual([2, 2, 2]);
      // An engine that restarted empty is told.
      expect((await engine.getSnapshot('acme', 'beta'))?.revision).toBe(2);
    },
  );

  it('is not held up for the others by a channel that takes long', async () => {
    const { refresher, ledger, publish, served } = await polledNode();
    publish(2);
    ledger.hold();
    const poll = refresher.poll();
    await settle();
    ledger.releaseOne(2);
    ledger.releaseOne(1);
    await settle();
    expect(served()).toEqual([1, 2, 2]);
    ledger.release();
    await poll;
    expect(served()).toEqual([2, 2, 2]);
  });

  it('takes from the engine what is there', async () => {
    const { refresher, ledger, engine, publish, served } = await polledNode();
    publish(2);
    for (const channel of CHANNELS) await engine.putSnapshot(channelAt(2, channel));
    await refresher.poll();
    expect(served()).toEqual([2, 2, 2]);
    expect(ledger.reads).toHaveLength(CHANNELS.length);
  });

  it('is shared by all who ask while it is under way, loads and all; after it, another one begins', async () => {
    const { refresher, ledger, publish, served } = await polledNode();
    publish(2);
    ledger.hold();
    const first = refresher.poll();
    await settle();
    const second = refresher.poll();
    await settle();
    expect(ledger.polls).toBe(1);
    ledger.release();
    await Promise.all([first, second]);
    expect(ledger.polls).toBe(1);
    expect(served()).toEqual([2, 2, 2]);
    await refresher.poll();
    expect(ledger.polls).toBe(2);
    // It never rejects, and the next one works again.
    publish(3);
    for (const fault of [ledgerAway(), new TypeError('bug')]) {
      ledger.fault = fault;
      await refresher.poll();
    }
    ledger.fault = undefined;
    await refresher.poll();
    expect(served()).toEqual([3, 3, 3]);
  });

  it('follows a ledger that went back, whose epoch is raised once', async () => {
    const { refresher, ledger, catalogs, publish, served, report } = await polledNode();
    publish(3);
    for (const channel of CHANNELS) await catalogs.reload('acme', channel);
    publish(2);
    await refresher.poll();
    expect(served()).toEqual([2, 2, 2]);
    expect(ledger.epoch).toBe(1);
    expect(report.epochs).toEqual([1]);
  });

  it('stops serving what the ledger has lost, and tells of it', async () => {
    const { refresher, ledger, served, report } = await polledNode();
    ledger.forget('chn_beta');
    await refresher.poll();
    expect(served()).toEqual([1, undefined, 1]);
    expect(report.lostIds).toEqual(['chn_beta']);
    expect(ledger.epoch).toBe(1);
  });

  it('takes what is lost off the list that all nodes share before it stops serving it', async () => {
    const { refresher, ledger, engine, known, served } = await polledNode();
    await known.refresh();
    await settle();
    const put = engine.putChannelNames;
    const servedAtPut: unknown[] = [];
    vi.spyOn(engine, 'putChannelNames').mockImplementation(async (list) => {
      await settle();
      servedAtPut.push(served());
      await put(list);
    });
    ledger.forget('chn_beta');
    await refresher.poll();
    const shared = await engine.getChannelNames(undefined);
    expect(shared?.channels.map(({ channel }) => channel)).toEqual(['alpha', 'stable']);
    expect(servedAtPut).toEqual([[1, 1, 1]]);
    expect(served()).toEqual([1, undefined, 1]);
  });

  it('goes on serving everything when the database is not the record', async () => {
    const { refresher, ledger, served, report } = await polledNode();
    for (const channel of CHANNELS) ledger.forget(`chn_${channel}`);
    ledger.isForeign = true;
    await refresher.poll();
    expect(served()).toEqual([1, 1, 1]);
    expect(report.lostIds).toEqual([]);
  });
});

describe('from start to stop', () => {
  it('an announcement is followed', async () => {
    const { refresher, engine, ledger, served } = await polledNode();
    refresher.start(engine);
    const change = ledger.commit(channelAt(2, 'beta'));
    await engine.announce(change);
    await settle();
    expect(served()).toEqual([1, 2, 1]);
    await refresher.stop();
  });

  it('hearing again after deafness is a poll at once', async () => {
    const { refresher, engine, publish, served } = await polledNode();
    refresher.start(engine);
    publish(2);
    engine.resume();
    await settle();
    expect(served()).toEqual([2, 2, 2]);
    await refresher.stop();
  });

  it('hearing again while the ledger is away is a look at what the other nodes shared', async () => {
    const { refresher, engine, ledger, served } = await polledNode();
    refresher.start(engine);
    for (const [index, channel] of CHANNELS.entries()) {
      await engine.putSnapshot(channelAt(1 + index, channel));
    }
    ledger.fault = ledgerAway();
    engine.resume();
    await settle();
    expect(served()).toEqual([1, 2, 3]);
    await refresher.stop();
  });

  it('an engine that is away again when it is looked at is not asked for the rest', async () => {
    const { refresher, engine, publish, served } = await polledNode();
    refresher.start(engine);
    engine.fault = engineAway();
    const asked = vi.spyOn(engine, 'getSnapshotHead');
    publish(2);
    engine.resume();
    await settle();
    expect(asked).toHaveBeenCalledTimes(1);
    expect(served()).toEqual([2, 2, 2]);
    await refresher.stop();
  });

  it('a stop waits for the poll under way and its loads, and none begins after it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { refresher, engine, ledger, publish, served } = await polledNode();
    refresher.start(engine);
    publish(2);
    ledger.hold();
    vi.advanceTimersByTime(POLL_WITHIN_MS);
    await settle();
    let isStopped = false;
    const stopped = refresher.stop().then(() => {
      isStopped = true;
    });
    await settle();
    expect(isStopped).toBe(false);
    ledger.release();
    await stopped;
    expect(served()).toEqual([2, 2, 2]);
    vi.advanceTimersByTime(10 * POLL_WITHIN_MS);
    await settle();
    expect(ledger.polls).toBe(1);
  });
});
