// API keys: how a secret is made, and what of it may be stored. The secret carries 256 random bits, so a
// plain SHA-256 is enough to store it by: there is nothing to guess, and nothing to slow down.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export type ApiKeySecret = {
  /** The whole secret, shown once. */
  readonly secret: string;
  /** Its public part: recognisable in a leak, and what the key is found by. */
  readonly prefix: string;
  /** Lower-case hex SHA-256 of the whole secret. */
  readonly hash: string;
};

const FORM = /^sluice_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
const PREFIX_LENGTH = 'sluice_'.length + 12;

/** Makes a new secret of the form `sluice_<12 hex>_<43 base64url>`. */
export function createApiKeySecret(): ApiKeySecret {
  const prefix = `sluice_${randomBytes(6).toString('hex')}`;
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, prefix, hash: hashSecret(secret) };
}

/** The public part of a presented secret, or undefined when it has not the form of one. */
export function apiKeyPrefix(secret: string): string | undefined {
  return FORM.test(secret) ? secret.slice(0, PREFIX_LENGTH) : undefined;
}

/** Lower-case hex SHA-256. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares two secrets, or two hashes, in a time that tells nothing about where they differ. */
export function equalSecrets(left: string, right: string): boolean {
  const a = createHash('sha256').update(left).digest();
  const b = createHash('sha256').update(right).digest();
  return timingSafeEqual(a, b);
}
