// Tests that a node loads what it served last before it is ready, and does not wait for ever.

import { afterEach, expect, it, vi } from 'vitest';
import { fail, failUntil } from '../../src/contract/failure.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import { CatalogSlot, PlanBudget } from '../../src/serving/catalog-slot.ts';
import { Readiness, WarmUp } from '../../src/serving/readiness.ts';
import type { ChannelName } from '../../src/store/engine.ts';
import { channelAt, settle } from './serving-node.ts';

/** Longest time that loading keeps a node from being ready, and loads at a time. */
const WARM_UP_MS = 30_000;
const LOADS_RUNNING = 4;

afterEach(() => vi.useRealTimers());

type Find = ConstructorParameters<typeof WarmUp>[0]['find'];

function warmUpOf(names: readonly ChannelName[], find: Find) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const lines: string[] = [];
  const keep = (details: object, text?: string) => {
    const { ms: _, ...rest } = details as { ms: number };
    lines.push(`${text} ${JSON.stringify(rest)}`);
  };
  const log = { info: keep, warn: keep } as ConstructorParameters<typeof WarmUp>[2];
  return { lines, warmUp: new WarmUp({ find }, { readDisk: async () => names }, log) };
}

const SLOT = new CatalogSlot(new PlanBudget(), new AppCounts(CHECK_REASONS));
const NAMES = Array.from({ length: 10 }, (_, index) => channelAt(1, `c${index}`));

it('a node without files is ready at once', async () => {
  const { warmUp, lines } = warmUpOf([], async () => SLOT);
  expect(warmUp.isOver).toBe(false);
  void warmUp.start();
  await settle();
  expect(warmUp.isOver).toBe(true);
  expect(lines).toEqual(['last known channels loaded {"channels":0}']);
});

it('every channel of the files is loaded first, four at a time; one that is gone needs no loading', async () => {
  const waiting: (() => void)[] = [];
  const { warmUp } = warmUpOf(NAMES, async (_app, channel) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return channel === 'c3' ? fail('unknownChannel') : SLOT;
  });
  void warmUp.start();
  await settle();
  expect(waiting).toHaveLength(LOADS_RUNNING);
  for (let index = 0; index < NAMES.length; index++) {
    expect(warmUp.isOver).toBe(false);
    waiting[index]?.();
    await settle();
  }
  expect(warmUp.isOver).toBe(true);
  expect(waiting).toHaveLength(NAMES.length);
});

it.each([
  ['cannot be had', async () => failUntil('unavailable', 1000)],
  [
    'fails',
    async () => {
      throw new Error('bug');
    },
  ],
])(
  'a channel that %s is tried again, and does not keep the node from being ready for ever',
  async (_what, find) => {
    let attempts = 0;
    const { warmUp, lines } = warmUpOf(NAMES, async (_app, channel) => {
      if (channel !== 'c3') return SLOT;
      attempts += 1;
      return find();
    });
    void warmUp.start();
    await vi.waitFor(() => expect(attempts).toBeGreaterThan(1), { timeout: 10_000 });
    expect(warmUp.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(WARM_UP_MS);
    expect(warmUp.isOver).toBe(true);
    expect(lines).toEqual([
      'ready, although last known channels could not be loaded {"missing":1}',
    ]);
  },
);

it('a stop ends it, and nothing is loaded afterwards', async () => {
  const asked: string[] = [];
  const { warmUp } = warmUpOf(NAMES, async (_app, channel) => {
    asked.push(channel);
    return failUntil('unavailable', 1000);
  });
  void warmUp.start();
  await settle();
  const stopped = warmUp.stop();
  await vi.advanceTimersByTimeAsync(1000);
  await stopped;
  const count = asked.length;
  await vi.advanceTimersByTimeAsync(WARM_UP_MS);
  expect(asked).toHaveLength(count);
});

it('a node that still loads is not ready, and says so, until it stops', async () => {
  const readiness = new Readiness({ warmUp: { isOver: false } } as never);
  expect(await readiness.obstacle()).toBe(
    'the channels that this node served last are still being loaded',
  );
  readiness.drain();
  expect(await readiness.obstacle()).toBe('draining');
});
