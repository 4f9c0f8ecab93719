// Tests of what edges follow where several processes of a service answer them, each of which may know of
// other first offers (§29.3), and of whose apps an edge may know, as far as the ledger tells (§29.2).

import { afterEach, expect, it, vi } from 'vitest';
import type { EdgeIndexAnswer } from '../../src/contract/edge.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { FollowedState } from '../../src/edge/followed-state.ts';
import { Follower } from '../../src/edge/follower.ts';
import { EdgeIndex } from '../../src/edge/server/edge-index.ts';
import type { UpstreamCall } from '../../src/edge/upstream-client.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { ChannelState } from '../../src/store/console-ledger.ts';
import type { Announcement } from '../../src/store/engine.ts';
import { eventually } from '../support/eventually.ts';

const CHANNEL = { appId: 'app_1', appRef: 'kiosk', channelId: 'chn_1', channel: 'stable' };
const STATE = { ...CHANNEL, organizationId: 'org_1', revision: 5 };
const PRESENT = { epoch: 1, record: 'rec_1', line: null, isComplete: true };
const OFFER = { ...CHANNEL, epoch: 1, revision: 5, offeredReleaseId: 'rel_1' };
const A_WHILE_MS = 60_000;
/** Shortest time between two questions of an edge. */
const QUIET_MS_MIN = 250;

const clock = { ms: 1_000_000 };
const made: EdgeIndex[] = [];
afterEach(() => {
  for (const index of made.splice(0)) index.stop();
  vi.useRealTimers();
});

/** A process of the service, which hears what it is told of, and its ledger. */
function furnish(...channels: readonly ChannelState[]) {
  const ledger = { channels, isAway: false };
  let hear: (announcement: Announcement) => void = () => undefined;
  const index = new EdgeIndex({
    ledger: {
      async readChannelStates() {
        if (ledger.isAway) throw new Unavailable('ledger', 'away');
        return { ...PRESENT, channels: ledger.channels };
      },
    },
    now: () => clock.ms,
    metrics: new Metrics(),
    log: { warn: () => undefined } as never,
  });
  index.start({
    subscribe(onAnnouncement) {
      hear = onAnnouncement;
    },
  });
  made.push(index);
  return { index, ledger, hear: (announcement: Announcement) => hear(announcement) };
}

/** Two processes; only the one that edges have followed for long has heard of the first offer. */
async function furnishTwo() {
  const [long, other] = [furnish(STATE), furnish(STATE)];
  await long.index.next(null, undefined, 0);
  long.hear(OFFER);
  return { long: long.index, other: other.index };
}

async function told(index: EdgeIndex, heldTag: string | undefined): Promise<EdgeIndexAnswer> {
  const answer = await index.next(null, heldTag, 0);
  if (answer === undefined) throw new Error('nothing is told');
  return answer;
}

it('an index is as new as the moment at which it is told, whichever process tells it', async () => {
  const { long, other } = await furnishTwo();
  const state = new FollowedState();
  state.adopt(await told(long, undefined));
  clock.ms += A_WHILE_MS;
  state.adopt(await told(other, state.tag));
  const again = await told(long, state.tag);
  expect([again.at, state.refusalOf(again)]).toEqual([clock.ms, undefined]);
});

it('an edge that waits is told of the next change, and of a stop; else its time ends', async () => {
  const { index, hear } = furnish(STATE);
  const known = await told(index, undefined);
  expect(await index.next(null, known.tag, 1)).toBeUndefined();
  const changed = index.next(null, known.tag, A_WHILE_MS);
  await new Promise(setImmediate);
  hear(OFFER);
  const next = await changed;
  expect(next?.channels[0]).toContainEqual(['rel_1']);
  const stopped = index.next(null, next?.tag, A_WHILE_MS);
  await new Promise(setImmediate);
  index.stop();
  expect(await stopped).toBeUndefined();
});

it('an edge rests between its questions to processes that answer at once by turns', async () => {
  const { long, other } = await furnishTwo();
  const askedAt: number[] = [];
  const client = {
    async call(_: unknown, { headers = {} }: UpstreamCall) {
      askedAt.push(performance.now());
      const heldTag = headers['if-none-match']?.slice(1, -1);
      const answer = await (askedAt.length % 2 === 1 ? long : other).next(null, heldTag, 0);
      return answer && { answer, bytes: Buffer.alloc(0), proof: '' };
    },
    refuse: (_: unknown, __: unknown, reason: string): never => {
      throw new Error(reason);
    },
    isProven: () => true,
  };
  const follower = new Follower({
    client: client as never,
    state: new FollowedState(),
    file: { read: async () => undefined, keep: () => undefined, flush: async () => undefined },
    announce: () => undefined,
    onContact: () => undefined,
    onDamaged: () => undefined,
  });
  await follower.start();
  await eventually('it has asked three times', () => askedAt.length >= 3);
  await follower.stop();
  // Late timers only make a rest longer.
  const [first = 0, second = 0, third = 0] = askedAt;
  expect(Math.min(second - first, third - second)).toBeGreaterThan(QUIET_MS_MIN / 2);
});

function channelOf(appId: string, organizationId: string): ChannelState {
  const [appRef, channel, channelId] = [`ref-${appId}`, 'stable', `chn_${appId}`];
  return { appId, appRef, organizationId, channel, channelId, revision: 1 };
}

it('knows the apps of its organization, or of all, and no app that does not exist', async () => {
  const { index } = furnish(channelOf('a', 'org_1'), channelOf('b', 'org_2'));
  expect(await index.servedOf('org_1', ['a', 'b', 'c'])).toEqual(new Set(['a']));
  expect(await index.servedOf(null, ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
});

it('of an app that may be new it says nothing while the ledger is away', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { index, ledger } = furnish(channelOf('a', 'org_1'));
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
