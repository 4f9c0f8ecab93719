// The part of the fleet that a device belongs to: the number of its partition in the ledger. Known to a
// process that records check-ins, it lets the devices of a part go to one writer, so that writers never wait
// for each other.

import { utf8WordsOf } from './utf8-words.ts';

/** Number of parts: the partitions of the table of devices. A power of two. */
export const DEVICE_PARTS = 16;

const MASK = DEVICE_PARTS - 1;
/** Low word of the constant with which PostgreSQL combines the hashes of the columns of a key. */
const COMBINE = 0x15e5a8e3;
/** Both words of the seed that PostgreSQL gives to the hashes of hash partitions. */
const [SEED_HIGH, SEED_LOW] = [0x7a5b2236, 0x7996dcfd];
const START = 0x9e3779b9 + 3_923_095;
const WORDS_PER_ROUND = 3;
const BYTES_PER_ROUND = 12;

// Cached hash of the latest app: consecutive check-ins mostly belong to the same one.
let lastAppId: string | undefined;
let lastAppHash = 0;

/**
 * Returns the device's part, from 0 on. The rule is PostgreSQL's for hash partitions by (app, device): both
 * texts are hashed with Bob Jenkins' lookup3 (public domain), and the hashes are combined. Only the low words
 * are needed, as a part has four bits. The migration that makes the parts has the same rule as `device_part`,
 * and a test holds both against what PostgreSQL does.
 */
export function devicePart(appId: string, deviceId: string): number {
  if (appId !== lastAppId) {
    lastAppHash = (hashOf(appId) + COMBINE) | 0;
    lastAppId = appId;
  }
  return (lastAppHash ^ (hashOf(deviceId) + COMBINE + (lastAppHash >>> 7))) & MASK;
}

// The three words of the state, as fields of one object: a hash allocates nothing.
const state = { a: 0, b: 0, c: 0 };

/** Returns the low word of the hash of a text in UTF-8. */
function hashOf(text: string): number {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  state.c = (START + byteLength) | 0;
  state.a = (state.c + SEED_HIGH) | 0;
  state.b = (state.c + SEED_LOW) | 0;
  mix();
  let at = 0;
  for (let left = byteLength; left >= BYTES_PER_ROUND; left -= BYTES_PER_ROUND) {
    state.a = (state.a + (words[at] as number)) | 0;
    state.b = (state.b + (words[at + 1] as number)) | 0;
    state.c = (state.c + (words[at + 2] as number)) | 0;
    mix();
    at += WORDS_PER_ROUND;
  }
  // At most eleven bytes are left. The lowest byte of the third word belongs to the length.
  if (at < wordCount) state.a = (state.a + (words[at] as number)) | 0;
  if (at + 1 < wordCount) state.b = (state.b + (words[at + 1] as number)) | 0;
  if (at + 2 < wordCount) state.c = (state.c + ((words[at + 2] as number) << 8)) | 0;
  return finish();
}

/** The function `mix` of lookup3. */
function mix(): void {
  let { a, b, c } = state;
  a = ((a - c) ^ turned(c, 4)) | 0;
  c = (c + b) | 0;
  b = ((b - a) ^ turned(a, 6)) | 0;
  a = (a + c) | 0;
  c = ((c - b) ^ turned(b, 8)) | 0;
  b = (b + a) | 0;
  a = ((a - c) ^ turned(c, 16)) | 0;
  c = (c + b) | 0;
  b = ((b - a) ^ turned(a, 19)) | 0;
  a = (a + c) | 0;
  c = ((c - b) ^ turned(b, 4)) | 0;
  b = (b + a) | 0;
  state.a = a;
  state.b = b;
  state.c = c;
}

/** The function `final` of lookup3; returns its third word. */
function finish(): number {
  let { a, b, c } = state;
  c = ((c ^ b) - turned(b, 14)) | 0;
  a = ((a ^ c) - turned(c, 11)) | 0;
  b = ((b ^ a) - turned(a, 25)) | 0;
  c = ((c ^ b) - turned(b, 16)) | 0;
  a = ((a ^ c) - turned(c, 4)) | 0;
  b = ((b ^ a) - turned(a, 14)) | 0;
  return ((c ^ b) - turned(b, 24)) | 0;
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
