// Tests how an edge follows a service that is behind it, or is of another record (§29.10).

import { afterEach, expect, it, vi } from 'vitest';
import type { EdgeIndexAnswer } from '../../src/contract/edge.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { FollowedState } from '../../src/edge/followed-state.ts';
import { Follower } from '../../src/edge/follower.ts';
import { RefusedAnswer, type UpstreamCall } from '../../src/edge/upstream-client.ts';
import { eventually } from '../support/eventually.ts';

/** Time after which what is known of an upstream counts as its present state no more. */
const LASTING_MS = 6000;

const followers: Follower[] = [];
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.stop();
  vi.useRealTimers();
});

function indexAt(epoch: number, revision: number, record = 'rec_1'): EdgeIndexAnswer {
  const entry = ['app_1', 'app', 'chn_1', 'stable', revision, []] as const;
  const named = { kind: 'index', record, line: null, at: 0, isComplete: true } as const;
  return { ...named, epoch, tag: `${record} ${epoch} ${revision}`, channels: [entry] };
}

/**
 * Follows a service that has this index. When it is shown another one, it raises its epoch above that, does
 * nothing, or does not answer. `held` is what the edge has on disk.
 */
async function follow(
  first: EdgeIndexAnswer,
  whenShown: 'raises' | 'does nothing' | 'is away' = 'raises',
  held?: { bytes: Buffer; proof: string },
) {
  const service = { index: first };
  const shown: unknown[] = [];
  const faults: unknown[] = [];
  const renewals: string[] = [];
  const asked: string[] = [];
  /** What calls do in place of an answer. */
  const instead: { call?: (() => Promise<never>) | undefined } = {};
  const client = {
    async call(kind: string, { body, headers = {}, path }: UpstreamCall) {
      asked.push(path);
      if (instead.call !== undefined) return await instead.call();
      if (kind === 'ahead') {
        shown.push(body);
        const { epoch } = JSON.parse((body as { index: string }).index) as EdgeIndexAnswer;
        if (whenShown === 'is away') throw new Unavailable('upstream', 'it is away');
        if (whenShown === 'raises')
          service.index = indexAt(epoch + 1, service.index.channels[0]?.[4] ?? 0);
        return { answer: { kind, epoch: epoch + 1 } };
      }
      const answer = service.index;
      if (headers['if-none-match'] === `"${answer.tag}"`) return undefined;
      return {
        answer,
        bytes: Buffer.from(JSON.stringify(answer)),
        proof: `proof of ${answer.tag}`,
      };
    },
    refuse(refusal: 'foreign', _: unknown, reason: string): never {
      throw new Unavailable('upstream', new RefusedAnswer(refusal, reason));
    },
    isProven: (_: Buffer, proof: string) => proof.startsWith('proof'),
    reconnect: () => renewals.push('reconnect'),
    restart: () => renewals.push('restart'),
  };
  const state = new FollowedState();
  const kept: unknown[] = [];
  const follower = new Follower({
    client: client as never,
    state,
    file: {
      read: async () => held,
      keep: (index) => kept.push(index.proof),
      flush: async () => undefined,
    },
    announce: () => undefined,
    onContact: (error) => error !== undefined && faults.push(error),
    onDamaged: (error) => faults.push(error),
  });
  followers.push(follower);
  await follower.start();
  await follower.first;
  return { service, follower, state, shown, kept, faults, renewals, asked, instead };
}

it('shows a service that is behind what it holds, with its proof, and follows the raised epoch', async () => {
  const { service, follower, state, shown, kept } = await follow(indexAt(1, 7));
  service.index = indexAt(0, 9);
  await eventually('it follows', () => state.epoch === 2);
  const held = indexAt(1, 7);
  expect(shown).toEqual([{ proof: `proof of ${held.tag}`, index: JSON.stringify(held) }]);
  expect(state.newestOf('chn_1')).toEqual({ epoch: 2, revision: 9 });
  expect(kept).toEqual(['proof of rec_1 1 7', 'proof of rec_1 2 9']);
  expect(follower.refusal).toBeUndefined();
});

it.each([
  ['replayed', indexAt(0, 9)],
  ['foreign', indexAt(9, 9, 'rec_2')],
] as const)(
  'says that what it gets is %s once that lasts, and keeps what it has',
  async (...row) => {
    const [refusal, index] = row;
    vi.useFakeTimers({ toFake: ['performance'] });
    const { service, follower, state, kept } = await follow(indexAt(1, 7), 'does nothing');
    service.index = index;
    vi.advanceTimersByTime(LASTING_MS);
    await eventually('it is said', () => follower.refusal === refusal);
    expect(state.newestOf('chn_1')).toEqual({ epoch: 1, revision: 7 });
    expect(kept).toHaveLength(1);
    service.index = indexAt(1, 8);
    await eventually('it follows again', () => follower.refusal === undefined);
    expect(state.newestOf('chn_1')).toEqual({ epoch: 1, revision: 8 });
  },
);

it('follows on when the service cannot be shown what it holds', async () => {
  const { service, state, shown, faults } = await follow(indexAt(1, 7), 'is away');
  service.index = indexAt(0, 9);
  await eventually('both calls are told', () => shown.length >= 1 && faults.length >= 2);
  expect(faults.map(String)).toContainEqual(expect.stringContaining('it is away'));
  expect(state.newestOf('chn_1')).toEqual({ epoch: 1, revision: 7 });
  service.index = indexAt(1, 8);
  await eventually('it follows again', () => state.newestOf('chn_1')?.revision === 8);
});

it.each([
  ['that no key of the service signed', 'forged', JSON.stringify(indexAt(9, 9)), 'signature'],
  ['that is no index', 'proof', '{}', 'no index'],
])('an index on disk %s is not adopted, and is reported', async (...row) => {
  const [, proof, text, reason] = row;
  const { state, faults } = await follow(indexAt(1, 7), 'raises', {
    bytes: Buffer.from(text),
    proof,
  });
  expect(state.newestOf('chn_1')).toEqual({ epoch: 1, revision: 7 });
  expect(faults.map(String)).toEqual([expect.stringContaining(reason)]);
});

it('goes on when a call never ends, however it came to that (§29.11)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { service, state, faults, instead, asked } = await follow(indexAt(1, 7));
  const before = asked.length;
  instead.call = () => new Promise(() => undefined);
  while (asked.length === before) await vi.advanceTimersByTimeAsync(100);
  instead.call = undefined;
  service.index = indexAt(1, 8);
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  await eventually('it follows again', () => state.newestOf('chn_1')?.revision === 8);
  expect(faults.map(String)).toEqual([expect.stringContaining('upstream')]);
});

it('asks at once after a failure, on a new connection, and ends what began before (§29.11)', async () => {
  const { faults, renewals, asked, instead } = await follow(indexAt(1, 7));
  instead.call = () => Promise.reject(new Unavailable('upstream', new Error('away')));
  await eventually('it fails twice', () => faults.length >= 2);
  expect(new Set(renewals)).toEqual(new Set(['reconnect']));
  instead.call = undefined;
  await eventually('it follows again', () => renewals.includes('restart'));
  await eventually('it waits again', () => asked.at(-1) === 'index?wait=2000');
  expect(asked.slice(-2)).toEqual(['index?wait=0', 'index?wait=2000']);
  expect(renewals.filter((each) => each === 'restart')).toHaveLength(1);
});
