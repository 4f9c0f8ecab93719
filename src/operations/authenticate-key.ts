// Who calls the management API. The ledger is asked every time: management calls are few, and a key
// that was just revoked must not live on in somebody's cache.

import { fail, type Outcome } from '../contract/failure.ts';
import type { Actor, Ledger } from '../ports/ledger.ts';
import { apiKeyPrefix, equalSecrets, hashSecret } from './api-key.ts';
import { Turnstile } from './turnstile.ts';

export type Caller = {
  readonly keyId: string;
  readonly organizationId: string;
  readonly actor: Actor;
};

/** Invented keys cost a look-up each: these many at a time, so that strangers cannot take all connections. */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

/** What an operation needs to know of who calls it. */
export type Principal = Pick<Caller, 'organizationId' | 'actor'>;

export class AuthenticateKey {
  private readonly ledger: Pick<Ledger, 'findKey'>;
  private readonly noteUse: (keyId: string) => void;
  private readonly gate = new Turnstile(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `noteUse` hears of every key that was let in. */
  constructor(ledger: Pick<Ledger, 'findKey'>, noteUse: (keyId: string) => void) {
    this.ledger = ledger;
    this.noteUse = noteUse;
  }

  /** The caller that a presented secret belongs to, or 401: missing, invalid and revoked look the same. */
  async authenticate(secret: string | undefined): Promise<Outcome<Caller>> {
    const prefix = secret === undefined ? undefined : apiKeyPrefix(secret);
    if (secret === undefined || prefix === undefined) return fail('unauthorized');
    const key = await this.gate.pass(() => this.ledger.findKey(prefix));
    const isRight = equalSecrets(hashSecret(secret), key?.secretHash ?? '');
    if (key === undefined || !isRight || key.revokedAt !== null) return fail('unauthorized');
    this.noteUse(key.id);
    return {
      keyId: key.id,
      organizationId: key.organizationId,
      actor: { kind: 'key', name: `${key.id} (${key.name})` },
    };
  }
}
