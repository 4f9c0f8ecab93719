// The UTF-8 form of a text as 32-bit words, which is how hashes and packed check-ins read a text. Reading a
// string character by character costs more than the hashing itself, so the words of the latest text are
// cached: a device id is hashed twice and packed once per check, and read once.

/** View of the words of the text that was read last. The next call of `utf8WordsOf` invalidates it. */
export type Utf8Words = {
  /** Words in little-endian byte order; the unused bytes of the last word are zero. */
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly byteLength: number;
  readonly isAscii: boolean;
};

const ASCII_MAX = 0x7f;
/**
 * Initial capacity in words: enough for any device id. A longer text allocates a larger array for the time it
 * is cached.
 */
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

  /** Reads an ASCII text; returns false, with undefined contents, when the text has other characters. */
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
    // Long texts are rare, so the larger array is given up with the next short text.
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
