// A text's UTF-8 as 32-bit words, which is how hashes and packs read it. Looking at a string character by
// character costs more than all that is done with the characters, so whoever needs the words of a text that
// was just read finds them here still: a device's id is hashed twice and packed once per check.

/** Of the text that was read last: gone with the next `wordsOf`. */
export type TextWords = {
  /** Little-endian; what the text leaves of the last one is zeros. */
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly byteLength: number;
  readonly isAscii: boolean;
};

const ASCII_MAX = 0x7f;
/** Room for any device id; a longer text makes room for itself. */
const WORDS_MIN = 128;

class LastText implements TextWords {
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

  /** False when the text is not ASCII: then nothing was read. */
  private readAscii(text: string): boolean {
    const { length } = text;
    this.makeRoom(length);
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
    this.makeRoom(bytes.length);
    const { words } = this;
    this.byteLength = bytes.length;
    this.wordCount = (bytes.length + 3) >> 2;
    if (this.wordCount > 0) words[this.wordCount - 1] = 0;
    new Uint8Array(words.buffer).set(bytes);
  }

  private makeRoom(byteLength: number): void {
    const wordCount = (byteLength + 3) >> 2;
    // The text kept so far is lost with its words, and longer ones are too rare to keep the room.
    if (wordCount > this.words.length) this.words = new Int32Array(wordCount);
    else if (this.words.length > WORDS_MIN && wordCount <= WORDS_MIN) {
      this.words = new Int32Array(WORDS_MIN);
    }
  }
}

const last = new LastText();

/** The words of a text, valid until the next call. */
export function wordsOf(text: string): TextWords {
  last.read(text);
  return last;
}
