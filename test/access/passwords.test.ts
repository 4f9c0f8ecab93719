// Tests passwords: how they are kept, that few are hashed at once, and that an unknown email takes as long as
// a known one.

import { expect, it } from 'vitest';
import { argon2Hasher, Passwords } from '../../src/access/passwords.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';

/** A hasher that hashes nothing, and counts its concurrent calls. */
function watchedHasher() {
  const watch = { running: 0, runningMax: 0, calls: [] as string[] };
  async function work<Value>(call: string, value: Value): Promise<Value> {
    watch.calls.push(call);
    watch.running += 1;
    watch.runningMax = Math.max(watch.runningMax, watch.running);
    await new Promise((resolve) => setImmediate(resolve));
    watch.running -= 1;
    return value;
  }
  const hasher = {
    hash: (password: string) => work('hash', `hash of ${password}`),
    verify: (hash: string, password: string) => work('verify', hash === `hash of ${password}`),
  };
  return { watch, hasher };
}

it('are Argon2id hashes with at least 19 MiB and two passes, salted, and verify only their own password', async () => {
  const hashes = [await argon2Hasher.hash('pässword'), await argon2Hasher.hash('pässword')];
  expect(hashes[0]).not.toBe(hashes[1]);
  for (const hash of hashes) {
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,(?:t=3,p=1|p=1,t=3)\$/);
    expect(await argon2Hasher.verify(hash, 'pässword')).toBe(true);
    expect(await argon2Hasher.verify(hash, 'pässword ')).toBe(false);
    expect(await argon2Hasher.verify(hash, 'passwörd')).toBe(false);
    // However a keyboard composes their letters.
    expect(await argon2Hasher.verify(hash, 'pa\u0308ssword')).toBe(true);
  }
});

it('kept by earlier versions of Sluice still verify, whose hashes name their parameters in another order', async () => {
  const kept =
    '$argon2id$v=19$m=19456,p=1,t=3$muJ6jXvNphIoS7uRPtbWew$0EM4s2JbvTFMz0MvpgEK8Y41Xs7B6YRKy7dIAqIOHNY';
  expect(await argon2Hasher.verify(kept, 'Größe')).toBe(true);
  expect(await argon2Hasher.verify(kept, 'Grösse')).toBe(false);
});

it('of a known and an unknown email take the same steps; no password is right for nobody', async () => {
  const { watch, hasher } = watchedHasher();
  const passwords = new Passwords(hasher);
  await passwords.verify(undefined, 'warm');
  for (const hash of [undefined, 'hash of y']) {
    watch.calls = [];
    await passwords.verify(hash, 'x');
    expect(watch.calls).toEqual(['verify']);
  }
  expect(await passwords.verify(undefined, 'x')).toBe(false);
  expect(await passwords.verify('hash of x', 'x')).toBe(true);
});

it('are hashed two at a time, and beyond a hundred that wait refused at once', async () => {
  const { watch, hasher } = watchedHasher();
  const passwords = new Passwords(hasher);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 150 }, (_, index) => passwords.hash(String(index))),
  );
  expect(watch.runningMax).toBe(2);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(102);
  const refused = outcomes.filter((each) => each.status === 'rejected');
  for (const { reason } of refused) expect(reason).toBeInstanceOf(Unavailable);
});

it('a decoy that could not be made is made by the next', async () => {
  const { hasher } = watchedHasher();
  let isFailing = true;
  const passwords = new Passwords({
    ...hasher,
    hash: async (password) => {
      if (isFailing) throw new Error('no memory');
      return hasher.hash(password);
    },
  });
  await expect(passwords.verify(undefined, 'x')).rejects.toThrow('no memory');
  isFailing = false;
  expect(await passwords.verify(undefined, 'x')).toBe(false);
});
