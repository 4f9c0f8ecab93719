// Hashes passwords with argon2id, with a limit on concurrent hashes: a hash takes 19 MiB and tens of
// milliseconds, and unauthenticated requests cause them.

import { randomBytes } from 'node:crypto';
import { type Algorithm, hash, verify } from '@node-rs/argon2';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { PasswordHasher } from '../store/account-ledger.ts';

/** Maximum number of concurrent hashes for strangers; each takes 19 MiB. */
const HASHES_RUNNING_MAX = 2;
const HASHES_KNOWN_MAX = 1;
const HASHES_WAITING_MAX = 100;

export class Passwords {
  private readonly gate = new ConcurrencyLimit(HASHES_RUNNING_MAX, HASHES_WAITING_MAX);
  /** Limit for known callers, so that strangers who keep trying passwords cannot fill it. */
  private readonly knownGate = new ConcurrencyLimit(HASHES_KNOWN_MAX, HASHES_WAITING_MAX);
  private decoy: Promise<string> | undefined;

  constructor(private readonly hasher: PasswordHasher) {}

  /**
   * Hashes a password. Rejects with `Unavailable` if too many calls wait. Callers who are `isKnown` by their
   * session, token or browser do not wait for strangers.
   */
  hash(password: string, isKnown = false): Promise<string> {
    return this.gateOf(isKnown).pass(() => this.hasher.hash(password));
  }

  /**
   * Verifies a password. Without a hash (unknown email address) it returns false after the same time as for a
   * wrong password. `isKnown` as for `hash`.
   */
  async verify(hash: string | undefined, password: string, isKnown = false): Promise<boolean> {
    const decoy = await this.decoyHash();
    const isRight = await this.gateOf(isKnown).pass(() =>
      this.hasher.verify(hash ?? decoy, password),
    );
    return isRight && hash !== undefined;
  }

  private gateOf(isKnown: boolean): ConcurrencyLimit {
    return isKnown ? this.knownGate : this.gate;
  }

  /** Returns the hash for unknown accounts; the first call of `verify` makes it, whatever its account. */
  private decoyHash(): Promise<string> {
    this.decoy ??= this.hash(randomBytes(32).toString('base64url')).catch((error: unknown) => {
      this.decoy = undefined;
      throw error;
    });
    return this.decoy;
  }
}

// Passwords hashed with Argon2id (RFC 9106), off the main thread. `@node-rs/argon2` ships a prebuilt binary
// for each platform as an ordinary package: installing it compiles nothing and runs no script. It reads the
// hashes of every other Argon2 library.

/** The package declares its variants as a `const enum`, which cannot be imported as a value. */
const ARGON2ID = 2 satisfies Algorithm.Argon2id;

/** OWASP's second choice of equal strength (19 MiB and 2 passes), with one more pass. */
const PARAMETERS = {
  algorithm: ARGON2ID,
  memoryCost: 19 * 1024,
  timeCost: 3,
  parallelism: 1,
} as const;

export const argon2Hasher: PasswordHasher = {
  hash: (password) => hash(spell(password), PARAMETERS),
  verify: (encoded, password) => verify(encoded, spell(password)),
};

/** Normalises a password, because keyboards compose letters differently (NIST SP 800-63B, 3.1.1.2). */
function spell(password: string): string {
  return password.normalize('NFKC');
}
