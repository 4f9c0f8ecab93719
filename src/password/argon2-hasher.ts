// Passwords kept with Argon2id (RFC 9106), off the serving thread.

import argon2 from 'argon2';
import type { PasswordHasher } from '../ports/password-hasher.ts';

/** OWASP's second choice of equal strength (19 MiB and 2 passes), with one pass more. */
const PARAMETERS = {
  type: argon2.argon2id,
  memoryCost: 19 * 1024,
  timeCost: 3,
  parallelism: 1,
} as const;

export const argon2Hasher: PasswordHasher = {
  hash: (password) => argon2.hash(spell(password), PARAMETERS),
  verify: (hash, password) => argon2.verify(hash, spell(password)),
};

/** The same password whichever way a keyboard composes its letters (NIST SP 800-63B, 3.1.1.2). */
function spell(password: string): string {
  return password.normalize('NFKC');
}
