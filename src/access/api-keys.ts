// Authentication of management calls by API key. The ledger is read every time: management calls are few, and
// a key that was just revoked must not stay valid in a cache.

import { fail, type Outcome } from '../contract/failure.ts';
import { KEY_RIGHTS, type KeyRight } from '../contract/resource.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor, KeyActor } from '../store/ledger-terms.ts';
import type { Reach } from '../store/reach.ts';
import { equalSecrets, hashSecret, prefixOfSecret } from './bearer-secret.ts';

export type Caller = Principal & {
  readonly keyId: string;
  /** Rights that the key was made with. */
  readonly may: readonly KeyRight[];
  readonly actor: KeyActor;
};

/**
 * Maximum number of concurrent key look-ups, so that callers with invented keys cannot take all database
 * connections.
 */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

/** Authenticated caller of an operation. */
export type Principal = {
  /** Apps that it may name. */
  readonly reach: Reach;
  readonly actor: Actor;
};

export class AuthenticateKey {
  private readonly ledger: Pick<Ledger, 'findKey'>;
  private readonly noteUse: (keyId: string, address: string) => void;
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `noteUse` is called for every key that was accepted, with the address of the client. */
  constructor(ledger: Pick<Ledger, 'findKey'>, noteUse: (keyId: string, address: string) => void) {
    this.ledger = ledger;
    this.noteUse = noteUse;
  }

  /**
   * Returns the caller that a secret belongs to; a missing, an invalid, a revoked one and one that is over
   * look the same. `address` is the client's; the audit names the request.
   */
  async authenticate(
    secret: string | undefined,
    address: string,
    requestId?: string,
  ): Promise<Outcome<Caller, 'unauthorized'>> {
    const prefix = secret === undefined ? undefined : prefixOfSecret('sluice', secret);
    if (secret === undefined || prefix === undefined) return fail('unauthorized');
    const key = await this.gate.pass(() => this.ledger.findKey(prefix));
    const isRight = equalSecrets(hashSecret(secret), key?.secretHash ?? '');
    if (key === undefined || !isRight || key.revokedAt !== null || key.isOver)
      return fail('unauthorized');
    this.noteUse(key.id, address);
    const { id, name, organizationId, appIds } = key;
    return {
      keyId: id,
      reach: appIds === null ? organizationId : { organizationId, appIds },
      may: key.may ?? KEY_RIGHTS,
      actor: { kind: 'key', id, name, organizationId, requestId },
    };
  }
}
