// Hashes of texts: one for the partition of the device table, one besides `hashText` for telling texts apart,
// and one with a key, so that a client cannot predict it.

/** Number of partitions of the device table; a power of two. */
export const DEVICE_PARTS = 16;

const MASK = DEVICE_PARTS - 1;
/** Low word of the constant that PostgreSQL adds when it combines the hashes of a key's columns. */
const COMBINE = 0x15e5a8e3;
/** Both words of the seed that PostgreSQL uses for hash partitions. */
const [SEED_HIGH, SEED_LOW] = [0x7a5b2236, 0x7996dcfd];
const START = 0x9e3779b9 + 3_923_095;
const WORDS_PER_ROUND = 3;
const BYTES_PER_ROUND = 12;

// Cached hash of the latest app: consecutive check-ins mostly have the same app.
let lastAppId: string | undefined;
let lastAppHash = 0;

/**
 * Returns the device's partition, from 0 on, by PostgreSQL's rule for hash partitions by (app, device): it
 * hashes both texts with Bob Jenkins' lookup3 (public domain) and combines the hashes. The low words suffice,
 * because a partition number has 4 bits. The schema has the same rule as `device_part`; a test compares both
 * with PostgreSQL.
 */
export function devicePart(appId: string, deviceId: string): number {
  if (appId !== lastAppId) {
    lastAppHash = (hashOf(appId) + COMBINE) | 0;
    lastAppId = appId;
  }
  return (lastAppHash ^ (hashOf(deviceId) + COMBINE + (lastAppHash >>> 7))) & MASK;
}

// The three words of the state, in one object so that hashing allocates nothing.
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

// UTF-8 form of a text as 32-bit words, as hashes and packed check-ins read it. Reading a string character by
// character costs more than hashing it, so the words of the latest text are cached: each check hashes a
// device id twice and packs it once, but reads it once.

/** Words of the text that was read last. The next call of `utf8WordsOf` invalidates them. */
type Utf8Words = {
  /** Words in little-endian byte order; the unused bytes of the last word are zero. */
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly byteLength: number;
  readonly isAscii: boolean;
};

const ASCII_MAX = 0x7f;
/** Initial capacity in words: enough for any device id. Caching a longer text takes a larger array. */
const WORDS_MIN = 128;

class LastText implements Utf8Words {
  words = new Int32Array(WORDS_MIN);
  wordCount = 0;
  byteLength = 0;
  isAscii = true;
  private text = '';

  read(text: string): void {
    if (text === this.text) return;
    this.isAscii = this.readAscii(text);
    if (!this.isAscii) this.readBytes(Buffer.from(text, 'utf8'));
    this.text = text;
  }

  /** Reads an ASCII text; returns false, with undefined contents, if the text has other characters. */
  private readAscii(text: string): boolean {
    const { length } = text;
    this.reserve(length);
    const { words } = this;
    const whole = length & ~3;
    let seen = 0;
    for (let at = 0; at < whole; at += 4) {
      const a = text.charCodeAt(at);
      const b = text.charCodeAt(at + 1);
      const c = text.charCodeAt(at + 2);
      const d = text.charCodeAt(at + 3);
      seen |= a | b | c | d;
      words[at >> 2] = a | (b << 8) | (c << 16) | (d << 24);
    }
    if (whole < length) {
      let tail = 0;
      for (let at = length - 1; at >= whole; at--) {
        const code = text.charCodeAt(at);
        seen |= code;
        tail = (tail << 8) | code;
      }
      words[whole >> 2] = tail;
    }
    this.byteLength = length;
    this.wordCount = (length + 3) >> 2;
    return seen <= ASCII_MAX;
  }

  private readBytes(bytes: Buffer): void {
    this.reserve(bytes.length);
    const { words } = this;
    this.byteLength = bytes.length;
    this.wordCount = (bytes.length + 3) >> 2;
    if (this.wordCount > 0) words[this.wordCount - 1] = 0;
    new Uint8Array(words.buffer).set(bytes);
  }

  private reserve(byteLength: number): void {
    const wordCount = (byteLength + 3) >> 2;
    // Long texts are rare, so the next short text frees the larger array.
    if (wordCount > this.words.length) this.words = new Int32Array(wordCount);
    else if (this.words.length > WORDS_MIN && wordCount <= WORDS_MIN) {
      this.words = new Int32Array(WORDS_MIN);
    }
  }
}

const last = new LastText();

/** Returns the words of a text; the view is valid until the next call. */
export function utf8WordsOf(text: string): Utf8Words {
  last.read(text);
  return last;
}

// A second 32-bit hash of a text, independent of `hashText`. Where two texts must not be confused, both
// hashes together identify a text: with 64 bits the odds that any two of a million texts collide are 1 in 37
// million, while 32 bits would give about a hundred collisions.

const SCRAMBLE = 0x9e3779b1;
const MIX_1 = 0x21f0aaad;
const MIX_2 = 0x735a2d97;

/**
 * Returns an unsigned 32-bit hash of the text's UTF-8 bytes. It is the same in all processes and versions of
 * Sluice, which exchange it to identify a device. It is not cryptographic: collisions can be built.
 */
export function secondHash(text: string, seed = 0): number {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  let hash = Math.imul(seed ^ byteLength, SCRAMBLE);
  for (let index = 0; index < wordCount; index++) {
    hash = Math.imul(hash ^ (words[index] as number), SCRAMBLE);
    hash ^= hash >>> 15;
  }
  // The finaliser "lowbias32" of Chris Wellons (public domain), which differs from that of `hashText`.
  hash = Math.imul(hash ^ (hash >>> 16), MIX_1);
  hash = Math.imul(hash ^ (hash >>> 15), MIX_2);
  return (hash ^ (hash >>> 15)) >>> 0;
}

// HalfSipHash-2-4 with 64 bits (Aumasson, Bernstein; the authors' reference code): nobody can predict the
// hash of a text without the key. Used in tables keyed by values that clients choose, so that a client cannot
// construct two texts that collide. The other hashes here are faster and do not resist that.

/** The four words of the state; they carry nothing from one text to the next. */
let [v0, v1, v2, v3] = [0, 0, 0, 0];

/** Writes the hash of a text's UTF-8 bytes under a two-word key into the first two words of `into`. */
export function keyedHash(text: string, key: Int32Array, into: Int32Array): void {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  const [low = 0, high = 0] = key;
  [v0, v1, v2, v3] = [low, high ^ 0xee, 0x6c796765 ^ low, 0x74656462 ^ high];
  // The last block holds the length and the remaining bytes, padded with zeros.
  const wholeWords = byteLength >>> 2;
  for (let index = 0; index < wholeWords; index++) compress(words[index] as number);
  const rest = wholeWords < wordCount ? (words[wholeWords] as number) : 0;
  compress(rest | (byteLength << 24));
  v2 ^= 0xee;
  keyedHashFinish();
  into[0] = v1 ^ v3;
  v1 ^= 0xdd;
  keyedHashFinish();
  into[1] = v1 ^ v3;
}

function compress(block: number): void {
  v3 ^= block;
  keyedHashMix();
  keyedHashMix();
  v0 ^= block;
}

function keyedHashFinish(): void {
  keyedHashMix();
  keyedHashMix();
  keyedHashMix();
  keyedHashMix();
}

function keyedHashMix(): void {
  v0 = (v0 + v1) | 0;
  v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
  v0 = (v0 << 16) | (v0 >>> 16);
  v2 = (v2 + v3) | 0;
  v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
  v0 = (v0 + v3) | 0;
  v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
  v2 = (v2 << 16) | (v2 >>> 16);
}
