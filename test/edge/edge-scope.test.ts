// Tests whose apps an edge may know of, as far as the ledger tells.

import { afterEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { EdgeIndex } from '../../src/edge/server/edge-index.ts';
import type { ChannelState, ChannelStates } from '../../src/store/console-ledger.ts';

afterEach(() => {
  vi.useRealTimers();
});

function channelOf(appId: string, organizationId: string): ChannelState {
  const [appRef, channel, channelId] = [`ref-${appId}`, 'stable', `chn_${appId}`];
  return { appId, appRef, organizationId, channel, channelId, revision: 1 };
}

function setUp(...channels: ChannelState[]) {
  const ledger = {
    channels,
    isAway: false,
    async readChannelStates(): Promise<ChannelStates> {
      if (this.isAway) throw new Unavailable('ledger', 'away');
      return { epoch: 0, record: null, line: null, channels: this.channels, isComplete: true };
    },
  };
  const index = new EdgeIndex({
    ledger,
    now: () => 0,
    metrics: { faults: { add: () => undefined } } as never,
    log: { warn: () => undefined } as never,
  });
  return { ledger, index };
}

it('knows the apps of its organization, or of all, and no app that does not exist', async () => {
  const { index } = setUp(channelOf('a', 'org_1'), channelOf('b', 'org_2'));
  expect(await index.servedOf('org_1', ['a', 'b', 'c'])).toEqual(new Set(['a']));
  expect(await index.servedOf(null, ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
});

it('of an app that may be new it says nothing while the ledger is away', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { index, ledger } = setUp(channelOf('a', 'org_1'));
  expect(await index.mayServe('org_1', 'new')).toBe(false);
  vi.advanceTimersByTime(2000);
  ledger.isAway = true;
  expect(await index.mayServe('org_1', 'a')).toBe(true);
  for (const scope of ['org_1', null]) {
    await expect(index.mayServe(scope, 'new')).rejects.toBeInstanceOf(Unavailable);
  }
  ledger.isAway = false;
  ledger.channels = [channelOf('a', 'org_1'), channelOf('new', 'org_1')];
  expect(await index.mayServe('org_1', 'new')).toBe(true);
});
