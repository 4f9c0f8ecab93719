// Passwords, hashed a few at a time: a hash takes tens of megabytes and milliseconds, and anybody can ask
// for one.

import { randomBytes } from 'node:crypto';
import type { PasswordHasher } from '../ports/password-hasher.ts';
import { Turnstile } from './turnstile.ts';

/** With 19 MiB each, what sign-ins can take of the memory. */
const HASHES_RUNNING_MAX = 2;
const HASHES_WAITING_MAX = 100;

export class Passwords {
  private readonly hasher: PasswordHasher;
  private readonly gate = new Turnstile(HASHES_RUNNING_MAX, HASHES_WAITING_MAX);
  private decoy: Promise<string> | undefined;

  constructor(hasher: PasswordHasher) {
    this.hasher = hasher;
  }

  /** `Unavailable` when too many wait already. */
  hash(password: string): Promise<string> {
    return this.gate.pass(() => this.hasher.hash(password));
  }

  /** Without a hash (nobody has that email) it is false, after the time that a wrong password takes. */
  async verify(hash: string | undefined, password: string): Promise<boolean> {
    const decoy = await this.decoyHash();
    const isRight = await this.gate.pass(() => this.hasher.verify(hash ?? decoy, password));
    return isRight && hash !== undefined;
  }

  /** Made once, for whoever comes first, known or not. */
  private decoyHash(): Promise<string> {
    this.decoy ??= this.hash(randomBytes(32).toString('base64url')).catch((error: unknown) => {
      this.decoy = undefined;
      throw error;
    });
    return this.decoy;
  }
}
