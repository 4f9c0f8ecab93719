// Who calls the management API. The ledger is asked every time: management calls are few, and a key
// that was just revoked must not live on in somebody's cache.

import { fail, type Outcome } from '../contract/failure.ts';
import type { Actor, Ledger } from '../ports/ledger.ts';
import { apiKeyPrefix, equalSecrets, hashSecret } from './api-key.ts';

export type Caller = {
  readonly keyId: string;
  readonly organizationId: string;
  readonly actor: Actor;
};

/** The caller that a presented secret belongs to, or 401: missing, invalid and revoked look the same. */
export async function authenticateKey(
  ledger: Ledger,
  secret: string | undefined,
): Promise<Outcome<Caller>> {
  const prefix = secret === undefined ? undefined : apiKeyPrefix(secret);
  if (secret === undefined || prefix === undefined) return fail('unauthorized');
  const key = await ledger.findKey(prefix);
  const isRight = equalSecrets(hashSecret(secret), key?.secretHash ?? '');
  if (key === undefined || !isRight || key.revokedAt !== null) return fail('unauthorized');
  return {
    keyId: key.id,
    organizationId: key.organizationId,
    actor: { kind: 'key', name: `${key.id} (${key.name})` },
  };
}
