// Tests what a process knows of the names of channels: what is there, what is not, and when nobody can tell.

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { ChannelDirectory } from '../../src/serving/channel-directory.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { gate } from '../support/gate.ts';
import { channelAt, engineAway, servingNode, settle } from './serving-node.ts';

/** Milliseconds after a poll for which it confirms the list, and for which a name waits for a list. */
const CONFIRMED_MS = 5000;
const WAIT_MS = 1000;

/** Known channels on a clock that the test sets. */
function knowing() {
  const node = servingNode();
  const clock = { ms: 0 };
  const parts = { engine: node.engine, diskSnapshots: node.diskSnapshots, metrics: node.metrics };
  const known = new ChannelDirectory({
    ...parts,
    ledger: node.ledger.port,
    log: node.log,
    now: () => clock.ms,
  });
  const told = (app: string, channel = 'stable') => {
    const found = known.find(app, channel);
    if (found === undefined) return 'reading';
    return isFailure(found) ? found.failure : found.channelId;
  };
  return { ...node, known, clock, told };
}

describe('while the ledger answers', () => {
  it('every channel is known by the ref and by the id of its app, everything else is unknown', async () => {
    const { known, ledger, told } = knowing();
    ledger.commit(channelAt(1));
    await known.settled();
    expect(['acme', 'app_1'].map((app) => told(app))).toEqual(['chn_stable', 'chn_stable']);
    expect([told('acme', 'beta'), told('other')]).toEqual(['unknownChannel', 'unknownApp']);
    // A poll finds a channel that no announcement told, and one that is gone.
    ledger.commit(channelAt(1, 'beta'));
    await known.refresh();
    expect([told('acme', 'beta'), known.size]).toEqual(['chn_beta', 2]);
    ledger.forget('chn_beta');
    await known.refresh();
    expect(told('acme', 'beta')).toBe('unknownChannel');
  });

  it('an announced channel is known at once by ref, and by id as soon as the list is read', async () => {
    const { known, ledger, told } = knowing();
    await known.settled();
    expect(told('acme')).toBe('unknownApp');
    known.hear(ledger.commit(channelAt(1)));
    expect([told('acme'), told('app_1')]).toEqual(['chn_stable', 'reading']);
    await known.settled();
    expect([told('acme'), told('app_1')]).toEqual(['chn_stable', 'chn_stable']);
    // Announcements of known channels ask nobody.
    const { listings } = ledger;
    known.hear(channelAt(2));
    await settle();
    expect(ledger.listings).toBe(listings);
  });

  it('a channel that was learned of while an older list was being read stays known', async () => {
    const { known, ledger, told } = knowing();
    const { opened, open } = gate();
    ledger.listGate = opened;
    const read = known.refresh();
    await settle();
    known.add(channelAt(1));
    open();
    await read;
    expect(told('acme')).toBe('chn_stable');
  });

  it('the engine has the list for other nodes, also after it was away, or restarted empty', async () => {
    const { known, ledger, engine } = knowing();
    ledger.commit(channelAt(1));
    engine.fault = engineAway();
    await known.settled();
    await settle();
    engine.fault = undefined;
    await known.refresh();
    await settle();
    const stored = await engine.getChannelNames(undefined);
    expect(stored?.channels.map(({ channelId }) => channelId)).toEqual(['chn_stable']);
    await engine.putChannelNames({ tag: 'empty', isComplete: true, channels: [] });
    known.shareAgain();
    await settle();
    expect(await engine.getChannelNames(undefined)).toEqual(stored);
  });
});

describe('while the ledger is away', () => {
  it('a name that it did not have is unknown for five seconds after it was heard from, then nobody can tell', async () => {
    const { known, ledger, clock, told } = knowing();
    ledger.commit(channelAt(1));
    await known.settled();
    // A poll that hangs.
    ledger.listGate = new Promise(() => {});
    void known.refresh();
    clock.ms = CONFIRMED_MS - 1;
    expect([told('acme'), told('other')]).toEqual(['chn_stable', 'unknownApp']);
    clock.ms = CONFIRMED_MS;
    expect([told('acme'), told('other')]).toEqual(['chn_stable', 'unavailable']);
  });

  it('nobody can tell as soon as a poll has failed, until one succeeds', async () => {
    const { known, ledger, told } = knowing();
    await known.settled();
    for (const fault of [undefined, ledgerAway(), undefined]) {
      ledger.fault = fault;
      await known.refresh();
      expect(told('other')).toBe(fault ? 'unavailable' : 'unknownApp');
    }
  });

  it('since the start, channels on disk and in the engine are known, and of no other one can tell', async () => {
    const { known, ledger, engine, diskSnapshots, told } = knowing();
    ledger.fault = ledgerAway();
    diskSnapshots.keep(channelAt(1));
    await engine.putChannelNames({
      tag: 'other node',
      isComplete: true,
      channels: [channelAt(1, 'beta')],
    });
    await known.settled();
    expect([told('acme'), told('app_1', 'beta')]).toEqual(['chn_stable', 'chn_beta']);
    expect([told('acme', 'nightly'), told('other')]).toEqual(['unavailable', 'unavailable']);
    // The ledger has the last word.
    ledger.fault = undefined;
    ledger.commit(channelAt(1, 'beta'));
    await known.refresh();
    expect([told('acme'), told('app_1', 'beta')]).toEqual(['unknownChannel', 'chn_beta']);
  });

  it('since the start, and silent: names wait a second at most, those of the engine less', async () => {
    const { known, ledger, engine, clock, told } = knowing();
    ledger.listGate = new Promise(() => {});
    await engine.putChannelNames({ tag: 'other node', isComplete: true, channels: [channelAt(1)] });
    known.start();
    await settle();
    expect(told('other')).toBe('reading');
    await expect.poll(() => told('acme')).toBe('chn_stable');
    clock.ms = WAIT_MS;
    expect(told('other')).toBe('unavailable');
  });

  it('and the engine, too, since the start: nothing is known, and nothing rejects', async () => {
    const { known, ledger, engine, told } = knowing();
    ledger.fault = ledgerAway();
    engine.fault = engineAway();
    await known.refresh();
    known.shareAgain();
    await known.refresh();
    expect([known.size, told('acme')]).toEqual([0, 'reading']);
    // What cannot be a name is refused whoever is away.
    const refused = ['a b', '', 'a'.repeat(65)].map((app) => told(app));
    expect(refused).toEqual(['unknownApp', 'unknownApp', 'unknownApp']);
    expect(told('acme', '-stable')).toBe('unknownChannel');
  });
});
