// Tests which key a presented secret belongs to, and that callers with invented keys leave the ledger free
// for others.

import { expect, it } from 'vitest';
import { AuthenticateKey, createBearerSecret, hashSecret } from '../../src/access/api-keys.ts';
import { KEY_RIGHTS } from '../../src/contract/resource.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { StoredKey } from '../../src/store/console-ledger.ts';
import { settle } from '../serving/serving-node.ts';
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

it('at most three look-ups run at once; the others wait, and all are answered', async () => {
  const ring = keyring();
  const keys = keysOf(ring);
  ring.isHolding = true;
  const strangers = Array.from({ length: 50 }, () =>
    keys.authenticate(createBearerSecret('sluice').secret, ADDRESS),
  );
  const right = keys.authenticate(addKey(ring), ADDRESS);
  await settle();
  expect(ring.lookups).toHaveLength(RUNNING_MAX);
  ring.releaseAll();
  for (const refusal of await Promise.all(strangers)) expect(refusal).toMatchObject(UNAUTHORIZED);
  expect(await right).toMatchObject({ keyId: 'key_1' });
  expect(ring.runningMax).toBe(RUNNING_MAX);
});

it('beyond a thousand who wait it is unavailable, and is there again afterwards', async () => {
  const ring = keyring();
  const keys = keysOf(ring);
  const secret = addKey(ring);
  ring.isHolding = true;
  const asked = Array.from({ length: RUNNING_MAX + WAITING_MAX }, () =>
    keys.authenticate(secret, ADDRESS),
  );
  await expect(keys.authenticate(secret, ADDRESS)).rejects.toBeInstanceOf(Unavailable);
  // A text that is no key is refused without a look-up.
  expect(await keys.authenticate('sluice_', ADDRESS)).toMatchObject(UNAUTHORIZED);
  ring.releaseAll();
  for (const caller of await Promise.all(asked)) expect(caller).toMatchObject({ keyId: 'key_1' });
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject({ keyId: 'key_1' });
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
