// Tests which key a presented secret belongs to, and that callers with invented keys leave the ledger free
// for others.

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { KEY_RIGHTS } from '../../src/contract/resource.ts';
import { AuthenticateKey } from '../../src/operations/access/authenticate-key.ts';
import { createBearerSecret, hashSecret } from '../../src/operations/access/bearer-secret.ts';
import type { StoredKey } from '../../src/ports/ledger.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { settle } from './serving-node.ts';

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

const UNAUTHORIZED = { failure: 'unauthorized' };

it('the right secret is its key, by id and name', async () => {
  const ring = keyring();
  const secret = addKey(ring);
  expect(await new AuthenticateKey(ring, () => undefined).authenticate(secret, ADDRESS)).toEqual({
    keyId: 'key_1',
    reach: 'org_1',
    may: KEY_RIGHTS,
    actor: { kind: 'key', id: 'key_1', name: 'ci', organizationId: 'org_1' },
  });
});

it('a narrowed key has its apps and rights, and its use is noted with the address', async () => {
  const ring = keyring();
  const uses: string[][] = [];
  const keys = new AuthenticateKey(ring, (...use) => uses.push(use));
  const secret = addKey(ring, { appIds: ['app_1'], may: ['read'] });
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject({
    reach: { organizationId: 'org_1', appIds: ['app_1'] },
    may: ['read'],
  });
  expect(uses).toEqual([['key_1', ADDRESS]]);
});

it('an unknown, a wrong and a revoked secret, and one that is over, are refused alike', async () => {
  const ring = keyring();
  const keys = new AuthenticateKey(ring, () => undefined);
  const right = addKey(ring);
  const wrong = right.slice(0, -1) + (right.endsWith('A') ? 'B' : 'A');
  const revoked = addKey(ring, { revokedAt: '2026-01-02T03:04:05.678Z' });
  const over = addKey(ring, { isOver: true });
  const unknown = createBearerSecret('sluice').secret;
  const refusals = [];
  for (const secret of [unknown, wrong, revoked, over])
    refusals.push(await keys.authenticate(secret, ADDRESS));
  expect(refusals[0]).toMatchObject(UNAUTHORIZED);
  expect(refusals[1]).toEqual(refusals[0]);
  expect(refusals[2]).toEqual(refusals[0]);
  expect(refusals[3]).toEqual(refusals[0]);
});

it('a key is refused from the moment it is revoked', async () => {
  const ring = keyring();
  const keys = new AuthenticateKey(ring, () => undefined);
  const secret = addKey(ring);
  expect(isFailure(await keys.authenticate(secret, ADDRESS))).toBe(false);
  for (const [prefix, key] of ring.stored) {
    ring.stored.set(prefix, { ...key, revokedAt: '2026-01-02T03:04:05.678Z' });
  }
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject(UNAUTHORIZED);
});

it('what has not the form of a secret is refused without a look-up', async () => {
  const ring = keyring();
  const keys = new AuthenticateKey(ring, () => undefined);
  const { secret } = createBearerSecret('sluice');
  const malformed = [
    undefined,
    '',
    'sluice_',
    secret.slice(0, -1),
    `${secret}A`,
    `${secret}\n`,
    ` ${secret}`,
    secret.toUpperCase(),
    secret.replace('sluice_', 'slucie_'),
    secret.slice(0, -1) + String.fromCharCode(0),
    hashSecret(secret),
  ];
  for (const each of malformed)
    expect(await keys.authenticate(each, ADDRESS)).toMatchObject(UNAUTHORIZED);
  expect(ring.lookups).toEqual([]);
});

it('a hash that is stored empty opens to nobody', async () => {
  const ring = keyring();
  const secret = addKey(ring, { secretHash: '' });
  expect(
    await new AuthenticateKey(ring, () => undefined).authenticate(secret, ADDRESS),
  ).toMatchObject(UNAUTHORIZED);
});

it('at most three look-ups run at once; the others wait, and all are answered', async () => {
  const ring = keyring();
  const keys = new AuthenticateKey(ring, () => undefined);
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
  const keys = new AuthenticateKey(ring, () => undefined);
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
  const keys = new AuthenticateKey(ring, () => undefined);
  const secret = addKey(ring);
  ring.fault = ledgerAway();
  for (let time = 0; time < 2 * RUNNING_MAX; time++) {
    await expect(keys.authenticate(secret, ADDRESS)).rejects.toBeInstanceOf(Unavailable);
  }
  ring.fault = undefined;
  expect(await keys.authenticate(secret, ADDRESS)).toMatchObject({ keyId: 'key_1' });
});
