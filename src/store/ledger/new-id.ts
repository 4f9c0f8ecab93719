// Identifiers of the ledger's rows: a type's prefix and 26 characters (lower-case Crockford base32), the
// first 10 of which spell the time. They sort by time of creation, so that an index on them grows at its end.

import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;

export type IdPrefix =
  | 'org'
  | 'app'
  | 'chn'
  | 'rel'
  | 'key'
  | 'acc'
  | 'inv'
  | 'pln'
  | 'edt'
  | 'rec';

/** Returns a new identifier, e.g. `app_01j9z3k5w8d2m4n6p7q8r9s0t1`. `now` is in milliseconds. */
export function newId(prefix: IdPrefix, now = Date.now()): string {
  return `${prefix}_${spellTime(now)}${spellRandom()}`;
}

function spellTime(now: number): string {
  let text = '';
  let rest = now;
  for (let index = 0; index < TIME_LENGTH; index++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Spells 80 random bits. 256 is a multiple of 32, so the low five bits of a random byte are uniform. */
function spellRandom(): string {
  let text = '';
  for (const byte of randomBytes(RANDOM_LENGTH)) text += ALPHABET.charAt(byte & 31);
  return text;
}
