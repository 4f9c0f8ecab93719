// Passwords kept with Argon2id (RFC 9106), off the serving thread.
//
// `@node-rs/argon2` ships a prebuilt binary for each platform as an ordinary package: installing it compiles
// nothing and runs no script. It reads the hashes that every other Argon2 library writes.

import { type Algorithm, hash, verify } from '@node-rs/argon2';
import type { PasswordHasher } from '../store/password-hasher.ts';

/** The package declares its variants as a `const enum`, which leaves no value behind to import. */
const ARGON2ID = 2 satisfies Algorithm.Argon2id;

/** OWASP's second choice of equal strength (19 MiB and 2 passes), with one pass more. */
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

/** Gives a password one spelling, however a keyboard composes its letters (NIST SP 800-63B, 3.1.1.2). */
function spell(password: string): string {
  return password.normalize('NFKC');
}
