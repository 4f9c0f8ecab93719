// Password hashing with a limit on concurrent hashes: a hash takes 19 MiB and tens of milliseconds, and
// unauthenticated requests cause them.

import { randomBytes } from 'node:crypto';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { PasswordHasher } from '../store/password-hasher.ts';

/** Maximum number of concurrent hashes, which take 19 MiB each. */
const HASHES_RUNNING_MAX = 2;
const HASHES_KNOWN_MAX = 1;
const HASHES_WAITING_MAX = 100;

export class Passwords {
  private readonly hasher: PasswordHasher;
  private readonly gate = new ConcurrencyLimit(HASHES_RUNNING_MAX, HASHES_WAITING_MAX);
  /** Limit for callers who are known, so that strangers who try passwords all the time cannot fill it. */
  private readonly knownGate = new ConcurrencyLimit(HASHES_KNOWN_MAX, HASHES_WAITING_MAX);
  private decoy: Promise<string> | undefined;

  constructor(hasher: PasswordHasher) {
    this.hasher = hasher;
  }

  /**
   * Hashes a password. Rejects with `Unavailable` when too many calls wait already. Callers who are
   * `isKnown`, by a session, a token or a browser of theirs, do not wait for strangers.
   */
  hash(password: string, isKnown = false): Promise<string> {
    return this.gateOf(isKnown).pass(() => this.hasher.hash(password));
  }

  /**
   * Verifies a password. Without a hash (unknown e-mail address) it returns false after the time a wrong
   * password takes. `isKnown` as for `hash`.
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

  /**
   * Returns the hash that stands in for an unknown account's. Created on the first call, whether the account
   * is known or not.
   */
  private decoyHash(): Promise<string> {
    this.decoy ??= this.hash(randomBytes(32).toString('base64url')).catch((error: unknown) => {
      this.decoy = undefined;
      throw error;
    });
    return this.decoy;
  }
}
