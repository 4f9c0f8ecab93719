// Tests the management rate limit: in the engine over all nodes, and without the engine on this node alone.

import { expect, it } from 'vitest';
import { limitManagement } from '../../src/access/api-keys.ts';
import { LIMIT } from '../../src/contract/limit.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { engineAway, watchedEngine } from '../serving/serving-node.ts';

const ALLOWED = { isAllowed: true };
const REFUSED = { isAllowed: false };
const PER_MINUTE = LIMIT.managementRequestsPerMinute;

/** A node's limit on this engine; each call is one request of a key. */
function limitOn(engine: ReturnType<typeof watchedEngine>) {
  let now = 0;
  const alone = createMemoryEngine({ now: () => now });
  const metrics = new Metrics();
  const count = (keyId = 'key_1') => limitManagement(engine, alone, metrics, keyId);
  const countMany = async (times: number, keyId?: string) => {
    for (let time = 0; time < times; time++) expect(await count(keyId)).toMatchObject(ALLOWED);
  };
  return { count, countMany, metrics, pass: (ms: number) => (now += ms) };
}

it('300 requests a minute of a key are allowed over all nodes, the next is refused for its time', async () => {
  const engine = watchedEngine();
  const { count, countMany } = limitOn(engine);
  await countMany(PER_MINUTE / 2);
  await limitOn(engine).countMany(PER_MINUTE / 2);
  const refused = await count();
  expect(refused).toMatchObject({ ...REFUSED, remaining: 0, leaveMs: refused.waitMs });
  expect(refused.waitMs).toBeGreaterThan(50_000);
  expect(await count('key_2')).toMatchObject({ ...ALLOWED, remaining: PER_MINUTE - 1 });
});

it('with the engine away each node counts alone, and as strictly', async () => {
  const engine = watchedEngine();
  engine.fault = engineAway();
  const [left, right] = [limitOn(engine), limitOn(engine)];
  await left.countMany(PER_MINUTE);
  expect(await left.count()).toMatchObject({ ...REFUSED, waitMs: 60_000 });
  await left.countMany(1, 'key_2');
  await right.countMany(PER_MINUTE);
  expect(left.metrics.faults.counts.get('rate')).toBe(PER_MINUTE + 2);
  left.pass(LIMIT.rateWindowMs);
  expect(await left.count()).toMatchObject(ALLOWED);
});

it('with the engine back it is the engine that counts', async () => {
  const engine = watchedEngine();
  const { count, countMany } = limitOn(engine);
  engine.fault = engineAway();
  await countMany(PER_MINUTE);
  expect(await count()).toMatchObject(REFUSED);
  engine.fault = undefined;
  await countMany(PER_MINUTE);
  expect(await count()).toMatchObject(REFUSED);
});

it('a bug of the engine is not taken for its absence', async () => {
  const engine = watchedEngine();
  engine.fault = new TypeError('bug');
  await expect(limitOn(engine).count()).rejects.toThrow(TypeError);
});
