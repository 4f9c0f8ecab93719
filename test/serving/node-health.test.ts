// Tests what `/readyz` says of a node that does without a store.

import { describe, expect, it } from 'vitest';
import type { StoreOutage } from '../../src/observe/store-health.ts';
import { NodeHealth } from '../../src/serving/readiness.ts';

const SINCE = Date.UTC(2026, 1, 3, 4, 5, 6, 789);
const REASON = 'PostgreSQL refuses the connection';

function storeOf(store: StoreOutage['store'], silentMs: number) {
  const outage = { store, since: SINCE, reason: REASON, isOfWrites: false };
  return { store, outage: silentMs < 2000 ? undefined : outage, silentMs };
}

function healthOf(obstacle: string | undefined, silentMs: readonly [number, number], max?: number) {
  const [ledgerMs, engineMs] = silentMs;
  const stores = [storeOf('ledger', ledgerMs), storeOf('engine', engineMs)];
  return new NodeHealth({ obstacle: async () => obstacle }, stores, max);
}

describe('the state of a node', () => {
  it('names what it does without, since when, why and what that means', async () => {
    const state = await healthOf(undefined, [60_000, 10]).state();
    expect(state.obstacle).toBeUndefined();
    expect(state.degraded).toEqual([
      {
        store: 'ledger',
        since: '2026-02-03T04:05:06.789Z',
        message: `${REASON}: known channels are served, nothing can be changed`,
      },
    ]);
  });

  it('without a limit stays ready however long both stores are away', async () => {
    const state = await healthOf(undefined, [1e9, 1e9]).state();
    expect(state.obstacle).toBeUndefined();
    expect(state.degraded.map(({ store }) => store)).toEqual(['ledger', 'engine']);
  });

  it('is not ready once no store has answered for longer than the limit: one of them is enough', async () => {
    expect((await healthOf(undefined, [31_000, 31_000], 30_000).state()).obstacle).toBe(
      'no store has answered for 31 s',
    );
    expect((await healthOf(undefined, [31_000, 500], 30_000).state()).obstacle).toBeUndefined();
    expect((await healthOf('draining', [31_000, 31_000], 30_000).state()).obstacle).toBe(
      'draining',
    );
  });

  it('of a Redis that refuses writes says that check-ins wait: it goes on telling changes', async () => {
    const outage = { since: SINCE, reason: 'Redis has no memory left', isOfWrites: true };
    const store = 'engine';
    const stores = [{ store, outage: { store, ...outage }, silentMs: 10 } as const];
    const { degraded } = await new NodeHealth(
      { obstacle: async () => undefined },
      stores,
      1,
    ).state();
    expect(degraded[0]?.message).toBe(
      'Redis has no memory left: check-ins wait in the processes, limits count per process',
    );
  });

  it('of an edge names its upstream, with the reason that may be told', async () => {
    const health = new NodeHealth(
      { obstacle: async () => undefined },
      [storeOf('upstream', 31_000)],
      30_000,
    );
    const { obstacle, degraded } = await health.state();
    expect(obstacle).toBe('the upstream has not answered for 31 s');
    expect(degraded[0]?.message).toBe(
      `the upstream cannot be followed, known channels are served as they were last: ${REASON}`,
    );
  });

  it('says that a store is refused; an edge that refuses its upstream is not ready', async () => {
    const ready = { obstacle: async () => undefined };
    const refusalOf = () => 'it is of another record';
    const node = new NodeHealth(ready, [storeOf('engine', 31_000)], undefined, (store) =>
      store === 'engine' ? refusalOf() : undefined,
    );
    expect(await node.state()).toMatchObject({
      obstacle: undefined,
      degraded: [{ store: 'engine', message: 'it is of another record' }],
    });
    const edge = new NodeHealth(ready, [storeOf('upstream', 10)], undefined, refusalOf);
    expect(await edge.state()).toEqual({ obstacle: 'it is of another record', degraded: [] });
  });
});
