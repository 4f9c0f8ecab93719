// Tests when a node is ready: it loads what it served last before, and does not wait for ever; and what
// `/readyz` says of one that does without a store.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { fail, failUntil } from '../../src/contract/failure.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import type { StoreOutage } from '../../src/observe/store-health.ts';
import { CatalogSlot, PlanBudget } from '../../src/serving/catalog-slot.ts';
import { NodeHealth, Readiness, WarmUp } from '../../src/serving/readiness.ts';
import type { ChannelName } from '../../src/store/engine.ts';
import { channelAt, settle } from './serving-node.ts';

const SINCE = Date.UTC(2026, 1, 3, 4, 5, 6, 789);
const REASON = 'PostgreSQL refuses the connection';

function storeOf(store: StoreOutage['store'], silentMs: number) {
  const outage = { store, since: SINCE, reason: REASON, isOfWrites: false };
  return { store, outage: silentMs < 2000 ? undefined : outage, silentMs };
}

const refused = 'it is of another record';
const ready = { obstacle: async () => undefined };

function healthOf(obstacle: string | undefined, silentMs: readonly [number, number], max?: number) {
  const [ledgerMs, engineMs] = silentMs;
  const stores = [storeOf('ledger', ledgerMs), storeOf('engine', engineMs)];
  return new NodeHealth({ obstacle: async () => obstacle }, stores, max).state();
}

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

it('a channel that cannot be had is tried again, but not for ever, and not after a stop', async () => {
  for (const isStopped of [false, true]) {
    const asked: string[] = [];
    const { warmUp, lines } = warmUpOf(NAMES, async (_app, channel) => {
      if (channel === 'c3') return failUntil('unavailable', 1000);
      if (channel !== 'c4') return SLOT;
      asked.push(channel);
      throw new Error('bug');
    });
    void warmUp.start();
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1), { timeout: 10_000 });
    expect(warmUp.isOver).toBe(false);
    const count = asked.length;
    const stopped = isStopped ? warmUp.stop() : undefined;
    await vi.advanceTimersByTimeAsync(WARM_UP_MS);
    await stopped;
    if (isStopped) expect(asked).toHaveLength(count);
    else expect(warmUp.isOver).toBe(true);
    const line = 'ready, although last known channels could not be loaded {"missing":2}';
    if (!isStopped) expect(lines).toEqual([line]);
  }
});

it('a node that still loads is not ready, and says so, until it stops', async () => {
  const readiness = new Readiness({ warmUp: { isOver: false } } as never);
  expect(await readiness.obstacle()).toBe(
    'the channels that this node served last are still being loaded',
  );
  readiness.drain();
  expect(await readiness.obstacle()).toBe('draining');
});

describe('the state of a node', () => {
  it('names what it does without, since when, why and what that means', async () => {
    expect(await healthOf(undefined, [60_000, 10])).toEqual({
      obstacle: undefined,
      degraded: [
        {
          store: 'ledger',
          since: '2026-02-03T04:05:06.789Z',
          message: `${REASON}: known channels are served, nothing can be changed`,
        },
      ],
    });
  });

  it.each<[string | undefined, ledgerMs: number, engineMs: number, max?: number, shown?: string]>([
    [undefined, 1e9, 1e9],
    [undefined, 31_000, 500, 30_000],
    [undefined, 31_000, 31_000, 30_000, 'no store has answered for 31 s'],
    ['draining', 31_000, 31_000, 30_000, 'draining'],
  ])(
    'is ready while one store answers within the limit: %s, %i, %i, %s: %s',
    async (obstacle, ledgerMs, engineMs, max, shown) => {
      expect((await healthOf(obstacle, [ledgerMs, engineMs], max)).obstacle).toBe(shown);
    },
  );

  it('of a Redis that refuses writes says that check-ins wait: it goes on telling changes', async () => {
    const outage = { since: SINCE, reason: 'Redis has no memory left', isOfWrites: true };
    const stores = [
      { store: 'engine', outage: { store: 'engine', ...outage }, silentMs: 10 } as const,
    ];
    expect((await new NodeHealth(ready, stores, 1).state()).degraded[0]?.message).toBe(
      'Redis has no memory left: check-ins wait in the processes, limits count per process',
    );
  });

  it('of an edge names its upstream, with the reason that may be told', async () => {
    const upstream = new NodeHealth(ready, [storeOf('upstream', 31_000)], 30_000);
    const message = 'the upstream cannot be followed, known channels are served as they were last';
    expect(await upstream.state()).toMatchObject({
      obstacle: 'the upstream has not answered for 31 s',
      degraded: [{ message: `${message}: ${REASON}` }],
    });
  });

  it('says that a store is refused; an edge that refuses its upstream is not ready', async () => {
    const stateOf = (store: 'engine' | 'upstream') =>
      new NodeHealth(ready, [storeOf(store, 31_000)], undefined, (each) => {
        return each === store ? refused : undefined;
      }).state();
    const degraded = [{ store: 'engine', message: refused }];
    expect(await stateOf('engine')).toMatchObject({ obstacle: undefined, degraded });
    expect((await stateOf('upstream')).obstacle).toBe(refused);
  });
});
