// The memory engine at the edges that only a clock under control can reach.

import { expect, it } from 'vitest';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { announcementOf } from './engine-contract.ts';

it('a place is free exactly one window after it was taken, not a millisecond before', async () => {
  let now = 1000;
  const engine = createMemoryEngine({ now: () => now });
  await engine.countRequest('key', 2, 60_000);
  now = 1500;
  await engine.countRequest('key', 2, 60_000);
  now = 60_999;
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: false, waitMs: 1 });
  now = 61_000;
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: true, waitMs: 0 });
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: false, waitMs: 500 });
});

it('an announcement is never heard before the call that made it has returned', async () => {
  const engine = createMemoryEngine();
  const events: string[] = [];
  engine.subscribe(
    () => events.push('heard'),
    () => events.push('resumed'),
  );
  const announced = engine.announce(announcementOf('app', 1));
  events.push('called');
  await announced;
  events.push('returned');
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(['called', 'returned', 'heard']);
});
