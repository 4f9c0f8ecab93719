// Tests what an erasure takes out of the caches beside the record: nothing for a caller that may not erase.

import { expect, it } from 'vitest';
import { type Failure, fail } from '../../src/contract/failure.ts';
import { eraseDevice } from '../../src/fleet/erase-device.ts';

/** Erases a device by an actor, where the record answers so; returns the answer, and what was forgotten. */
async function erase(answer: Failure | undefined, actor: object) {
  const forgotten: object[] = [];
  const ledger = {
    findApp: async () => ({ id: 'app_1' }),
    eraseDevice: async () => answer,
  };
  const labels = {
    forget: async (devices: readonly object[]) => void forgotten.push(...devices),
  };
  const principal = { scope: {}, actor } as Parameters<typeof eraseDevice>[1];
  const erased = await eraseDevice({ ledger, labels } as never, principal, 'desktop', 'd-1');
  return { erased, forgotten };
}

const PERSON = { kind: 'account' };
const KEY = { kind: 'key', lacks: undefined };
const KEY_THAT_MAY_NOT = { kind: 'key', lacks: 'fleet' };
const FORGOTTEN = [{ appId: 'app_1', deviceId: 'd-1' }];

it.each([
  ['is erased', undefined, PERSON, FORGOTTEN],
  ['is erased by a key', undefined, KEY, FORGOTTEN],
  [
    'is on record no more, as after an erasure that broke off',
    fail('unknownDevice'),
    KEY,
    FORGOTTEN,
  ],
  ['is unknown, and the caller may not erase', fail('unknownDevice'), KEY_THAT_MAY_NOT, []],
  ['may not be erased', fail('keyMayNot'), KEY_THAT_MAY_NOT, []],
])('of a device that %s', async (_, answer, actor, forgotten) => {
  expect(await erase(answer, actor)).toEqual({ erased: answer, forgotten });
});
