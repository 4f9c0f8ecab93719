// Tests the poll that finds changes without an announcement: each channel by itself, one poll at a time, and
// no poll left behind by a stop.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { ledgerAway } from '../support/fake-ledger.ts';
import { channelAt, servedRevision, servingNode, settle } from './serving-node.ts';

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
  it('of channels that are up to date reads none of them, and of none asks nothing', async () => {
    const { refresher, ledger } = await polledNode();
    await refresher.poll();
    expect([ledger.polls, ledger.reads.length]).toEqual([1, CHANNELS.length]);
    const empty = servingNode();
    await empty.refresher.poll();
    expect(empty.ledger.polls).toBe(0);
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
      for (let time = 0; time < 2; time++) await refresher.poll();
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

  it('never rejects, and the next one works again', async () => {
    const { refresher, ledger, publish, served } = await polledNode();
    publish(3);
    for (const fault of [ledgerAway(), new TypeError('bug')]) {
      ledger.fault = fault;
      await refresher.poll();
    }
    ledger.fault = undefined;
    await refresher.poll();
    expect(served()).toEqual([3, 3, 3]);
  });

  it('takes what the ledger has lost off the list of all nodes, then stops serving it, and tells', async () => {
    const { refresher, ledger, engine, known, served, report } = await polledNode();
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
    expect([report.lostIds, ledger.epoch]).toEqual([['chn_beta'], 1]);
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
  async function started() {
    const node = await polledNode();
    node.refresher.start(node.engine);
    return node;
  }

  it('announcements are followed, and hearing again after deafness is a poll at once', async () => {
    const { refresher, engine, ledger, publish, served } = await started();
    await engine.announce(ledger.commit(channelAt(2, 'beta')));
    await settle();
    expect(served()).toEqual([1, 2, 1]);
    publish(3);
    engine.resume();
    await settle();
    expect(served()).toEqual([3, 3, 3]);
    await refresher.stop();
  });

  it('hearing again while the ledger is away is a look at what the other nodes shared', async () => {
    const { refresher, engine, ledger, served } = await started();
    for (const [index, channel] of CHANNELS.entries()) {
      await engine.putSnapshot(channelAt(1 + index, channel));
    }
    ledger.fault = ledgerAway();
    engine.resume();
    await settle();
    expect(served()).toEqual([1, 2, 3]);
    await refresher.stop();
  });

  it('polls come within 1.5 s; a stop waits for the one under way and its loads', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { refresher, ledger, publish, served } = await started();
    publish(2);
    ledger.hold();
    vi.advanceTimersByTime(POLL_WITHIN_MS);
    await settle();
    const stopped = refresher.stop().then(() => served());
    await settle();
    ledger.release();
    expect(await stopped).toEqual([2, 2, 2]);
    vi.advanceTimersByTime(10 * POLL_WITHIN_MS);
    await settle();
    expect(ledger.polls).toBe(1);
  });
});
