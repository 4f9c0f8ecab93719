// Tests of the ledger of an edge: what it believes of snapshots and offers, and what it tells without a call.

import { afterEach, expect, it, vi } from 'vitest';
import type { EdgeAnswer } from '../../src/contract/edge.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { FollowedState } from '../../src/edge/followed-state.ts';
import {
  type ProvenAnswer,
  RefusedByUpstream,
  type UpstreamCall,
} from '../../src/edge/upstream-client.ts';
import { UpstreamLedger } from '../../src/edge/upstream-ledger.ts';
import { indexText, releaseText, writeIndex } from '../../src/store/snapshot/snapshot-index.ts';

const DEVICE = { appId: 'app_1', deviceId: 'd' };

function snapshot(revision: number, versions: readonly string[], epoch = 0): ServingSnapshot {
  return {
    ...{ appId: 'app_1', appRef: 'app', channelId: 'chn_1', channel: 'stable' },
    ...{ epoch, revision, updateMode: 'optional', minimumSupportedVersion: null },
    ...{ requireSignature: false, follows: null, ddi: null, ddiAuth: null },
    releases: versions.map((version) => ({
      ...{ id: `rel_${version}`, edition: `e${version}`, version, notes: '', status: 'published' },
      ...{ rolloutPct: 100, targets: null, offered: false, followed: false },
      ...{ createdAt: '2026-01-01T00:00:00.000Z', number: 1, retriedAt: null, artifacts: [] },
    })),
  } as ServingSnapshot;
}

function answerOf(from: ServingSnapshot, releases = from.releases): EdgeAnswer {
  const texts = releases.map((each) => [each.edition, releaseText(each)] as const);
  return {
    kind: 'snapshot',
    index: indexText(writeIndex(from)),
    releases: Object.fromEntries(texts),
  };
}

/** A ledger whose upstream gives these answers by path, and what it asked and refused. */
function furnish(answers: Partial<Record<string, EdgeAnswer>>, revision = 5, isHung = false) {
  const asked: UpstreamCall[] = [];
  const refused: string[] = [];
  const follower = { isFresh: true };
  const fault: { latest?: unknown } = {};
  const client = {
    async call<Kind extends EdgeAnswer['kind']>(_: Kind, call: UpstreamCall) {
      asked.push(call);
      if (isHung) return await new Promise<never>(() => undefined);
      const answer = answers[call.path];
      if (answer === undefined) throw new Unavailable('upstream', new Error('away'));
      return { answer, bytes: Buffer.alloc(0), proof: '' } as unknown as ProvenAnswer<Kind>;
    },
    refuse(refusal: string, _: unknown, reason: string): never {
      refused.push(refusal);
      throw new Unavailable('upstream', new Error(reason));
    },
    close: () => undefined,
  };
  const state = new FollowedState();
  const entry = ['app_1', 'app', 'chn_1', 'stable', revision, []] as const;
  const index = { kind: 'index', epoch: 0, at: 0, tag: 't', isComplete: true } as const;
  state.adopt({ ...index, channels: [entry] });
  const lastFailure = () => fault.latest;
  const ledger = new UpstreamLedger({ client, state, follower, lastFailure });
  return { ledger, asked, refused, follower, fault };
}

it('a snapshot is read without the releases that are known, which stay the same objects', async () => {
  const known = snapshot(5, ['1.0.0']);
  const newer = snapshot(6, ['1.0.0', '2.0.0']);
  const { ledger, asked } = furnish({ snapshot: answerOf(newer, newer.releases.slice(1)) });
  const read = (await ledger.readSnapshot('app', 'stable', known)) as ServingSnapshot;
  expect(asked[0]?.body).toEqual({
    ...{ app: 'app', channel: 'stable', known: ['e1.0.0'] },
    atLeast: { epoch: 0, revision: 5 },
  });
  expect(read).toEqual(newer);
  expect(read.releases[0]).toBe(known.releases[0]);
});

it('releases that did not fit are asked for', async () => {
  const whole = snapshot(5, ['1.0.0', '2.0.0', '3.0.0']);
  const [first, ...rest] = whole.releases;
  const releases = Object.fromEntries(rest.map((each) => [each.edition, releaseText(each)]));
  const { ledger, asked } = furnish({
    snapshot: answerOf(whole, first && [first]),
    releases: { kind: 'releases', releases },
  });
  expect(await ledger.readSnapshot('app_1', 'stable')).toEqual(whole);
  expect(asked[1]?.body).toMatchObject({ editions: ['e2.0.0', 'e3.0.0'] });
});

it.each([
  ['replayed', answerOf(snapshot(4, ['1.0.0']))],
  ['malformed', answerOf({ ...snapshot(5, []), channelId: 'chn_2' })],
  ['malformed', { kind: 'snapshot', index: 'x', releases: {} } as EdgeAnswer],
  [
    'malformed',
    { ...answerOf(snapshot(5, ['1.0.0'])), releases: { 'e1.0.0': '{}' } } as EdgeAnswer,
  ],
])('a snapshot that is %s is refused', async (refusal, answer) => {
  const { ledger, refused } = furnish({ snapshot: answer });
  await expect(ledger.readSnapshot('app', 'stable')).rejects.toThrow(Unavailable);
  expect(refused).toEqual([refusal]);
});

it('a snapshot that was seen is the oldest that is accepted from then on', async () => {
  const answers = { snapshot: answerOf(snapshot(7, [])) };
  const { ledger, refused } = furnish(answers);
  await ledger.readSnapshot('app', 'stable');
  expect((await ledger.readRevisions(['chn_1'])).revisions).toEqual(new Map([['chn_1', 7]]));
  answers.snapshot = answerOf(snapshot(6, []));
  await expect(ledger.readSnapshot('app', 'stable')).rejects.toThrow(Unavailable);
  expect(refused).toEqual(['replayed']);
});

it('names that do not exist are told without a call, while the upstream is there', async () => {
  const { ledger, asked, follower } = furnish({});
  expect(await ledger.readSnapshot('other', 'stable')).toBe('unknown-app');
  expect(await ledger.readSnapshot('app', 'beta')).toBe('unknown-channel');
  const list = await ledger.listChannelNames(undefined, 10);
  expect(list?.channels.map(({ channel }) => channel)).toEqual(['stable']);
  expect(await ledger.listChannelNames(list?.tag, 10)).toBeUndefined();
  expect(asked).toEqual([]);
  follower.isFresh = false;
  for (const call of [
    () => ledger.readSnapshot('other', 'stable'),
    () => ledger.listChannelNames(undefined, 10),
    () => ledger.readRevisions([]),
    () => ledger.confirm(),
    () => ledger.raiseEpoch(),
  ]) {
    await expect(call()).rejects.toThrow(Unavailable);
  }
  expect(await ledger.isReachable()).toBe(false);
});

it('what the upstream does not confirm fails for the reason for which it could not be followed', async () => {
  const { ledger, follower, fault } = furnish({});
  follower.isFresh = false;
  expect(ledger.lastFailure().message).toContain('has not answered');
  const cause = new Error('connect ECONNREFUSED 127.0.0.1:1');
  const refusal = new RefusedByUpstream(404, 'Not found');
  for (const [latest, reason] of [
    [new Unavailable('upstream', cause), cause],
    [refusal, refusal],
  ]) {
    fault.latest = latest;
    await expect(ledger.confirm()).rejects.toMatchObject({ name: 'Unavailable', cause: reason });
  }
});

it('an offer that is refused tells the state to decide from', async () => {
  const offer = { kind: 'offer', releaseId: 'r', epoch: 0, revision: 9 } as const;
  const { ledger, refused } = furnish({ offer: { ...offer, isRecorded: false } });
  const order = { epoch: 0, revision: 5 };
  expect(await ledger.recordFirstOffer('chn_1', 'r', order)).toBe(false);
  expect((await ledger.readRevisions(['chn_1'])).revisions.get('chn_1')).toBe(9);
  await expect(ledger.recordFirstOffer('chn_1', 'another', order)).rejects.toThrow(Unavailable);
  expect(refused).toEqual(['malformed']);
  await expect(ledger.recordFirstOffer('chn_none', 'r', order)).rejects.toThrow(Unavailable);
});

it('marks that the upstream lacks are told to it as offers', async () => {
  const offer = { kind: 'offer', releaseId: 'r', epoch: 0, revision: 5, isRecorded: true } as const;
  const { ledger, asked } = furnish({ offer });
  expect(await ledger.restoreOffers('chn_1', ['r'])).toBe(1);
  expect(asked[0]?.body).toMatchObject({ release: 'r', state: { epoch: 0, revision: 5 } });
  expect(await ledger.raiseEpoch()).toEqual({ epoch: 0, isRaised: false });
});

it('labels of other devices than those asked for are refused', async () => {
  const labels = [['app_1', 'd', 3, [['ring', 'inner', 5]]]] as const;
  const { ledger, refused } = furnish({ labels: { kind: 'labels', labels, areRecorded: [true] } });
  expect(await ledger.readLabels([DEVICE])).toEqual([
    {
      ...DEVICE,
      revision: 3,
      labels: new Map([['ring', 'inner']]),
      times: new Map([['ring', 5]]),
      isRecorded: true,
    },
  ]);
  await expect(ledger.readLabels([{ ...DEVICE, deviceId: 'x' }])).rejects.toThrow(Unavailable);
  await expect(ledger.readLabels([DEVICE, DEVICE])).rejects.toThrow(Unavailable);
  expect(refused).toEqual(['malformed', 'malformed']);
});

it('changes of labels are asked for only once labels are known here', async () => {
  const changes = { kind: 'label-changes', epoch: 0, newest: 4, through: 4, changed: [] } as const;
  const { ledger, asked } = furnish({ 'label-changes': changes });
  expect(await ledger.readLabelChanges(undefined, 10)).toEqual({
    ...{ epoch: 0, newest: 0, changed: [] },
  });
  expect(asked).toEqual([]);
  ledger.noteLabels();
  expect(await ledger.readLabelChanges(undefined, 10)).toMatchObject({ newest: 4 });
});

afterEach(() => void vi.useRealTimers());

it('a call that never ends fails, however it came to that (§29.11)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { ledger } = furnish({}, 5, true);
  const read = expect(ledger.readSnapshot('app', 'stable')).rejects.toThrow(Unavailable);
  const offer = expect(
    ledger.recordFirstOffer('chn_1', 'rel_1', { epoch: 0, revision: 5 }),
  ).rejects.toThrow(Unavailable);
  await vi.advanceTimersByTimeAsync(21_000);
  await Promise.all([read, offer]);
});
