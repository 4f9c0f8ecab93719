// Tests API keys: which key a presented secret belongs to, that callers with invented ones leave the ledger
// free for others, the rate limit of a key, and when and from where it was last used.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AuthenticateKey,
  createBearerSecret,
  hashSecret,
  KeyUses,
  limitManagement,
} from '../../src/access/api-keys.ts';
import { LIMIT } from '../../src/contract/limit.ts';
import { KEY_RIGHTS } from '../../src/contract/resource.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import type { KeyUse, StoredKey } from '../../src/store/console-ledger.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { engineAway, watchedEngine } from '../serving/serving-node.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const RUNNING_MAX = 3;
const WAITING_MAX = 1000;
const ADDRESS = '192.0.2.1';

/** A ledger of keys whose look-ups wait while `isHolding`. */
function keyring() {
  const stored = new Map<string, StoredKey>();
  const held: (() => void)[] = [];
  const ring = {
    stored,
    held,
    lookups: [] as string[],
    running: 0,
    runningMax: 0,
    isHolding: false,
    fault: undefined as Error | undefined,
    releaseAll(): void {
      ring.isHolding = false;
      for (const go of held.splice(0)) go();
    },
    async findKey(prefix: string): Promise<StoredKey | undefined> {
      ring.lookups.push(prefix);
      ring.running += 1;
      ring.runningMax = Math.max(ring.runningMax, ring.running);
      if (ring.isHolding) await new Promise<void>((resolve) => held.push(resolve));
      ring.running -= 1;
      if (ring.fault !== undefined) throw ring.fault;
      return stored.get(prefix);
    },
  };
  return ring;
}

function addKey(ring: ReturnType<typeof keyring>, parts: Partial<StoredKey> = {}): string {
  const { secret, prefix, hash } = createBearerSecret('sluice');
  const unlimited = { revokedAt: null, isOver: false, appIds: null, may: null };
  const key = { id: 'key_1', name: 'ci', organizationId: 'org_1', ...unlimited, ...parts };
  ring.stored.set(prefix, { secretHash: hash, ...key });
  return secret;
}

function keysOf(ring: ReturnType<typeof keyring>): AuthenticateKey {
  return new AuthenticateKey(ring, () => undefined);
}

const UNAUTHORIZED = { failure: 'unauthorized' };

it('the right secret is its key, by id and name, with its apps and rights; its use is noted', async () => {
  const ring = keyring();
  const uses: string[][] = [];
  const keys = new AuthenticateKey(ring, (...use) => uses.push(use));
  expect(await keys.authenticate(addKey(ring), ADDRESS)).toEqual({
    keyId: 'key_1',
    scope: 'org_1',
    may: KEY_RIGHTS,
    actor: { kind: 'key', id: 'key_1', name: 'ci', organizationId: 'org_1' },
  });
  const narrowed = addKey(ring, { appIds: ['app_1'], may: ['read'] });
  expect(await keys.authenticate(narrowed, ADDRESS)).toMatchObject({
    scope: { organizationId: 'org_1', appIds: ['app_1'] },
    may: ['read'],
  });
  expect(uses).toEqual(Array(2).fill(['key_1', ADDRESS]));
});

it('an unknown, a wrong and a revoked secret, and one that is over, are refused alike', async () => {
  const ring = keyring();
  const right = addKey(ring);
  const refused = [
    createBearerSecret('sluice').secret,
    right.slice(0, -1) + (right.endsWith('A') ? 'B' : 'A'),
    addKey(ring, { revokedAt: '2026-01-02T03:04:05.678Z' }),
    addKey(ring, { isOver: true }),
    // A hash that is stored empty opens to nobody.
    addKey(ring, { secretHash: '' }),
  ];
  const refusals: unknown[] = [];
  for (const secret of refused) refusals.push(await keysOf(ring).authenticate(secret, ADDRESS));
  expect(refusals[0]).toMatchObject(UNAUTHORIZED);
  expect(refusals).toEqual(refused.map(() => refusals[0]));
});

it('what has not the form of a secret is refused without a look-up', async () => {
  const ring = keyring();
  const keys = keysOf(ring);
  const { secret } = createBearerSecret('sluice');
  const malformed = [
    ...[undefined, '', 'sluice_', `${secret}A`, `${secret}\n`, ` ${secret}`, secret.toUpperCase()],
    ...[secret.slice(0, -1), `${secret.slice(0, -1)}\0`, hashSecret(secret)],
    secret.replace('sluice_', 'slucie_'),
  ];
  for (const each of malformed) {
    expect(await keys.authenticate(each, ADDRESS)).toMatchObject(UNAUTHORIZED);
  }
  expect(ring.lookups).toEqual([]);
});

it('at most three look-ups run at once; beyond a thousand who wait it is unavailable, and there again afterwards', async () => {
  const ring = keyring();
  const keys = keysOf(ring);
  const secret = addKey(ring);
  ring.isHolding = true;
  const strangers = Array.from({ length: 50 }, () =>
    keys.authenticate(createBearerSecret('sluice').secret, ADDRESS),
  );
  const asked = Array.from({ length: RUNNING_MAX + WAITING_MAX - strangers.length }, () =>
    keys.authenticate(secret, ADDRESS),
  );
  await expect(keys.authenticate(secret, ADDRESS)).rejects.toBeInstanceOf(Unavailable);
  expect(ring.lookups).toHaveLength(RUNNING_MAX);
  // A text that is no key is refused without a look-up.
  expect(await keys.authenticate('sluice_', ADDRESS)).toMatchObject(UNAUTHORIZED);
  ring.releaseAll();
  for (const refusal of await Promise.all(strangers)) expect(refusal).toMatchObject(UNAUTHORIZED);
  for (const caller of await Promise.all(asked)) expect(caller).toMatchObject({ keyId: 'key_1' });
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject({ keyId: 'key_1' });
  expect(ring.runningMax).toBe(RUNNING_MAX);
});

it('a ledger that is away is unavailable, not unauthorized, and gives the places back', async () => {
  const ring = keyring();
  const keys = keysOf(ring);
  const secret = addKey(ring);
  ring.fault = ledgerAway();
  for (let time = 0; time < 2 * RUNNING_MAX; time++) {
    await expect(keys.authenticate(secret, ADDRESS)).rejects.toBeInstanceOf(Unavailable);
  }
  ring.fault = undefined;
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject({ keyId: 'key_1' });
});

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
  // Once it is back it is the engine that counts.
  engine.fault = undefined;
  await left.countMany(PER_MINUTE);
  expect(await left.count()).toMatchObject(REFUSED);
});

it('a bug of the engine is not taken for its absence', async () => {
  const engine = watchedEngine();
  engine.fault = new TypeError('bug');
  await expect(limitOn(engine).count()).rejects.toThrow(TypeError);
});

describe('uses of keys', () => {
  let written: (readonly KeyUse[])[];
  let fault: Error | undefined;
  let uses: KeyUses;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    written = [];
    fault = undefined;
    const ledger = {
      async recordKeyUses(batch: readonly KeyUse[]) {
        if (fault !== undefined) throw fault;
        written.push(batch);
      },
    };
    uses = new KeyUses(ledger, new RareLog(createLog('silent')));
    uses.start();
  });

  afterEach(async () => {
    await uses.stop();
    vi.useRealTimers();
  });

  /** Ids and addresses of all that was written. */
  function all(): string[] {
    return written.flatMap((batch) => batch.map(({ id, from }) => `${id} ${from}`));
  }

  it('many uses from one address within a minute are one write, a second later', async () => {
    for (let count = 0; count < 100; count++) uses.note('key_1', '192.0.2.1');
    uses.note('key_2', '192.0.2.1');
    expect(written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(written.map((batch) => batch.map(({ id }) => id))).toEqual([['key_1', 'key_2']]);
    await vi.advanceTimersByTimeAsync(65_000);
    expect(written).toHaveLength(1);
    uses.note('key_1', '192.0.2.1');
    await vi.advanceTimersByTimeAsync(1000);
    expect(written).toHaveLength(2);
  });

  it('the last of them is written as well, when the minute is over', async () => {
    uses.note('key_1', '192.0.2.1');
    await vi.advanceTimersByTimeAsync(30_000);
    uses.note('key_1', '192.0.2.1');
    const last = new Date().toISOString();
    await vi.advanceTimersByTimeAsync(29_000);
    expect(written).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(written.flat().map(({ at }) => at)).toEqual([expect.any(String), last]);
  });

  it('another address is written at once, and so is the one that comes back', async () => {
    uses.note('key_1', '192.0.2.1');
    uses.note('key_1', '198.51.100.7');
    await vi.advanceTimersByTimeAsync(1000);
    expect(all()).toEqual(['key_1 198.51.100.7']);
    uses.note('key_1', '192.0.2.1');
    await vi.advanceTimersByTimeAsync(1000);
    expect(all()).toEqual(['key_1 198.51.100.7', 'key_1 192.0.2.1']);
    // Two in turn are one write a second.
    for (let count = 0; count < 100; count++) uses.note('key_1', `192.0.2.${1 + (count % 2)}`);
    await vi.advanceTimersByTimeAsync(1000);
    expect(all().slice(2)).toEqual(['key_1 192.0.2.2']);
  });

  it('a write that failed is tried again, unless there is a later use', async () => {
    fault = new Error('away');
    uses.note('key_1', '192.0.2.1');
    uses.note('key_2', '192.0.2.1');
    await vi.advanceTimersByTimeAsync(1000);
    uses.note('key_1', '192.0.2.2');
    fault = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(all().sort()).toEqual(['key_1 192.0.2.2', 'key_2 192.0.2.1']);
  });

  it('what is left is written at the end', async () => {
    uses.note('key_1', '192.0.2.1');
    await vi.advanceTimersByTimeAsync(1000);
    uses.note('key_1', '192.0.2.1');
    uses.note('key_2', '192.0.2.2');
    await uses.stop();
    expect(all()).toEqual(['key_1 192.0.2.1', 'key_2 192.0.2.2', 'key_1 192.0.2.1']);
  });
});
