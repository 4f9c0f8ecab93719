// Tests of reading the changes of labels from an upstream that leaves other organizations out.

import { expect, it } from 'vitest';
import type { EdgeLabelChangesAnswer } from '../../src/contract/edge.ts';
import { LabelChangeReader } from '../../src/edge/upstream-ledger.ts';

const PAGE_SIZE = 3;

/** Time at which the first page is asked for; each further one takes a second. */
const ASKED_AT = 50_000;

/**
 * An upstream with changes at positions 1, 2, 3, …: `true` for those of this edge's organization. Each answer
 * tells the age of the oldest check-in that is not recorded.
 */
function upstreamOf(own: readonly boolean[], unrecordedMs: number | null = 0) {
  const asked: (number | undefined)[] = [];
  let now = ASKED_AT;
  const reader = new LabelChangeReader(
    async (after): Promise<EdgeLabelChangesAnswer> => {
      asked.push(after);
      now += 1000;
      const newest = own.length;
      const from = after ?? newest;
      const through = Math.min(newest, from + PAGE_SIZE);
      const positions = Array.from({ length: through - from }, (_, index) => from + index + 1);
      const changed = positions
        .filter((position) => own[position - 1])
        .map((position) => ['app', `d${position}`, 1, [['a', 'b', 1]] as const, position] as const);
      return { kind: 'label-changes', epoch: 0, newest, through, changed, unrecordedMs };
    },
    () => now,
  );
  return { reader, asked };
}

const positionsOf = (changes: { changed: readonly { position: number }[] }) =>
  changes.changed.map(({ position }) => position);

it('pages are joined until all changes or as many as were asked for are there', async () => {
  const { reader } = upstreamOf([true, true, true, true, true, true, true]);
  expect(positionsOf(await reader.read(0, 100))).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(positionsOf(await reader.read(0, 4))).toEqual([1, 2, 3, 4]);
  expect(await reader.read(undefined, 4)).toMatchObject({ epoch: 0, newest: 7, changed: [] });
});

it('a change behind those of others is found, and they are passed over once', async () => {
  const { reader, asked } = upstreamOf([...new Array<boolean>(7).fill(false), true]);
  const found = await reader.read(0, 100);
  expect(positionsOf(found)).toEqual([8]);
  expect(found.changed[0]).toMatchObject({ deviceId: 'd8', labels: new Map([['a', 'b']]) });
  asked.length = 0;
  expect(positionsOf(await reader.read(0, 100))).toEqual([8]);
  expect(asked).toEqual([6]);
});

it('where nothing is of this organization, the next read begins behind it', async () => {
  const { reader, asked } = upstreamOf(new Array<boolean>(7).fill(false));
  expect(await reader.read(0, 100)).toMatchObject({ epoch: 0, newest: 7, changed: [] });
  asked.length = 0;
  await reader.read(0, 100);
  expect(asked).toEqual([7]);
});

it('a read of all changes tells by when what is recorded was uploaded', async () => {
  const all = upstreamOf([true, true, true, true], 400).reader;
  // The second page has more, but the first was not asked for later than that.
  expect(await all.read(0, 100)).toMatchObject({ recordedUntil: ASKED_AT - 400 });
  expect(await all.read(undefined, 100)).toMatchObject({ recordedUntil: ASKED_AT + 2000 - 400 });
  expect(await all.read(0, 2)).toMatchObject({ recordedUntil: undefined });
  const unknown = upstreamOf([true], null).reader;
  expect(await unknown.read(0, 100)).toMatchObject({ recordedUntil: undefined });
  // Longer than one read goes.
  const foreign = upstreamOf(new Array<boolean>(40 * PAGE_SIZE + 1).fill(false)).reader;
  expect(await foreign.read(0, 100)).toMatchObject({ recordedUntil: undefined });
});

it('of an upstream of the version before, which does not tell it, all counts as recorded', async () => {
  const changes = { kind: 'label-changes', epoch: 0, newest: 0, through: 0, changed: [] } as const;
  const reader = new LabelChangeReader(
    async () => changes,
    () => ASKED_AT,
  );
  expect(await reader.read(0, 100)).toMatchObject({ recordedUntil: ASKED_AT });
});
