// Authentication of management calls by API key. The ledger is read every time: management calls are few, and
// a key that was just revoked must not stay valid in a cache.

import { fail, type Outcome } from '../../contract/failure.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { apiKeyPrefix, equalSecrets, hashSecret } from './api-key.ts';

export type Caller = {
  readonly keyId: string;
  readonly organizationId: string;
  readonly actor: Actor;
};

/**
 * Maximum number of concurrent key look-ups, so that callers with invented keys cannot take all database
 * connections.
 */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

/** Authenticated caller of an operation. */
export type Principal = Pick<Caller, 'organizationId' | 'actor'>;

export class AuthenticateKey {
  private readonly ledger: Pick<Ledger, 'findKey'>;
  private readonly noteUse: (keyId: string) => void;
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `noteUse` is called for every key that was accepted. */
  constructor(ledger: Pick<Ledger, 'findKey'>, noteUse: (keyId: string) => void) {
    this.ledger = ledger;
    this.noteUse = noteUse;
  }

  /**
   * Returns the caller that a secret belongs to; a missing, an invalid and a revoked one look the same. The
   * audit names the request.
   */
  async authenticate(
    secret: string | undefined,
    requestId?: string,
  ): Promise<Outcome<Caller, 'unauthorized'>> {
    const prefix = secret === undefined ? undefined : apiKeyPrefix(secret);
    if (secret === undefined || prefix === undefined) return fail('unauthorized');
    const key = await this.gate.pass(() => this.ledger.findKey(prefix));
    const isRight = equalSecrets(hashSecret(secret), key?.secretHash ?? '');
    if (key === undefined || !isRight || key.revokedAt !== null) return fail('unauthorized');
    this.noteUse(key.id);
    const { id, name, organizationId } = key;
    return {
      keyId: id,
      organizationId,
      actor: { kind: 'key', id, name, organizationId, requestId },
    };
  }
}
