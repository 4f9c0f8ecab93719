// Password hashing with a limit on concurrent hashes: a hash takes 19 MiB and tens of milliseconds, and
// unauthenticated requests cause them.

import { randomBytes } from 'node:crypto';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { PasswordHasher } from '../../ports/password-hasher.ts';

/** Maximum number of concurrent hashes, which take 19 MiB each. */
const HASHES_RUNNING_MAX = 2;
const HASHES_WAITING_MAX = 100;

export class Passwords {
  private readonly hasher: PasswordHasher;
  private readonly gate = new ConcurrencyLimit(HASHES_RUNNING_MAX, HASHES_WAITING_MAX);
  private decoy: Promise<string> | undefined;

  constructor(hasher: PasswordHasher) {
    this.hasher = hasher;
  }

  /** Hashes a password. Rejects with `Unavailable` when too many calls wait already. */
  hash(password: string): Promise<string> {
    return this.gate.pass(() => this.hasher.hash(password));
  }

  /**
   * Verifies a password. Without a hash (unknown e-mail address) it returns false after the time a wrong
   * password takes.
   */
  async verify(hash: string | undefined, password: string): Promise<boolean> {
    const decoy = await this.decoyHash();
    const isRight = await this.gate.pass(() => this.hasher.verify(hash ?? decoy, password));
    return isRight && hash !== undefined;
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
