// Reads HTTP/1.1 answers off one connection, for a client that has to be cheaper than the server. An answer
// of a known shape (same status, same length, head ending at the same position) is recognised by a few bytes.
// Every other answer, and every answer that comes in pieces, goes through a full parser.

const CR = 13;
const LF = 10;
const ZERO = 48;
const SIZE = /^content-length(:[ \t]*\d+[ \t]*\r\n)/im;
/** Statuses of answers without a body, whatever the head says. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** Position of the status, after `HTTP/1.1 `. */
const STATUS_AT = 9;
const HEAD_BYTES_MAX = 65_536;
/** Maximum number of shapes to remember, whatever a server answers. */
const SHAPES_MAX = 64;

/** Form that the answers of one status and one length have in common. */
type Shape = {
  readonly status: number;
  readonly headLength: number;
  /** Position of `: `, the digits and the line's end of Content-Length; `to` is 0 when there is none. */
  readonly from: number;
  readonly to: number;
  readonly sizeText: Uint8Array;
  /** Number of bytes of head and body. */
  readonly length: number;
};

export class MalformedResponse extends Error {}

/** Shapes that the connections of a run have learned. All connections share them. */
export class ResponseShapes {
  private readonly shapes: Shape[] = [];
  private last: Shape | undefined;

  learn(shape: Shape): void {
    if (this.shapes.length < SHAPES_MAX) this.shapes.push(shape);
    this.last = shape;
  }

  /** Shape of the whole answer that begins here; undefined when no known shape matches. */
  recognise(chunk: Uint8Array, at: number, end: number): Shape | undefined {
    if (this.last === undefined || isAt(this.last, chunk, at, end)) return this.last;
    const shape = this.shapes.find((known) => isAt(known, chunk, at, end));
    if (shape !== undefined) this.last = shape;
    return shape;
  }
}

/** Tells whether the answer that begins here has the shape's status, head length and named length. */
function isAt(shape: Shape, chunk: Uint8Array, at: number, end: number): boolean {
  const bodyAt = at + shape.headLength;
  if (at + shape.length > end || readStatus(chunk, at) !== shape.status) return false;
  if (chunk[bodyAt - 1] !== LF || chunk[bodyAt - 2] !== CR || chunk[bodyAt - 3] !== LF)
    return false;
  for (let place = shape.from, index = 0; place < shape.to; place++, index++) {
    if (chunk[at + place] !== shape.sizeText[index]) return false;
  }
  return true;
}

export class ResponseReader {
  private readonly shapes: ResponseShapes;
  private readonly onResponse: (status: number) => void;
  private pending: Buffer = Buffer.alloc(0);
  /** Number of body bytes of the present answer that are still to come. */
  private bodyLeft = 0;
  private status = 0;
  private isClosing = false;

  constructor(shapes: ResponseShapes, onResponse: (status: number) => void) {
    this.shapes = shapes;
    this.onResponse = onResponse;
  }

  /** True when the server said that the answer was its connection's last. */
  get closes(): boolean {
    return this.isClosing;
  }

  /** Takes what came in; the chunk may be reused afterwards. Throws `MalformedResponse`. */
  take(chunk: Buffer, length: number): void {
    let at = 0;
    if (this.pending.length === 0 && this.bodyLeft === 0) {
      while (at < length) {
        const shape = this.shapes.recognise(chunk, at, length);
        if (shape === undefined) break;
        at += shape.length;
        this.onResponse(shape.status);
      }
    }
    if (at < length) this.parse(chunk.subarray(at, length));
  }

  private parse(chunk: Buffer): void {
    let rest = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    this.pending = Buffer.alloc(0);
    while (rest.length > 0) {
      if (this.bodyLeft > 0) {
        const taken = Math.min(this.bodyLeft, rest.length);
        this.bodyLeft -= taken;
        rest = rest.subarray(taken);
        if (this.bodyLeft === 0) this.onResponse(this.status);
        continue;
      }
      const headEnd = rest.indexOf('\r\n\r\n');
      if (headEnd < 0) {
        if (rest.length > HEAD_BYTES_MAX) throw new MalformedResponse('a head without an end');
        // Copied, because the chunk's memory belongs to the socket.
        this.pending = Buffer.from(rest);
        return;
      }
      rest = this.begin(rest, headEnd + 4);
    }
  }

  /** Begins an answer whose head is complete; returns the bytes after the head. */
  private begin(bytes: Buffer, headLength: number): Buffer {
    const head = bytes.toString('latin1', 0, headLength);
    if (!/^HTTP\/1\.1 [1-5]\d\d/.test(head)) throw new MalformedResponse(head.slice(0, 60));
    if (/^transfer-encoding:/im.test(head)) throw new MalformedResponse('transfer encodings');
    this.status = readStatus(bytes, 0);
    this.isClosing = /^connection:\s*close\s*$/im.test(head);
    this.bodyLeft = bodyLength(head, this.status);
    if (!this.isClosing) {
      const { from, to } = sizePlace(head, this.status);
      const sizeText = Uint8Array.from(bytes.subarray(from, to));
      const length = headLength + this.bodyLeft;
      this.shapes.learn({ status: this.status, headLength, from, to, sizeText, length });
    }
    if (this.bodyLeft === 0) this.onResponse(this.status);
    return bytes.subarray(headLength);
  }
}

function readStatus(chunk: Uint8Array, at: number): number {
  const hundreds = (chunk[at + STATUS_AT] as number) - ZERO;
  const tens = (chunk[at + STATUS_AT + 1] as number) - ZERO;
  return hundreds * 100 + tens * 10 + ((chunk[at + STATUS_AT + 2] as number) - ZERO);
}

/** Position of the length's text in the head, with the line's end. */
function sizePlace(head: string, status: number): { from: number; to: number } {
  const found = BODILESS.has(status) ? null : SIZE.exec(head);
  if (found === null) return { from: 0, to: 0 };
  const to = found.index + found[0].length;
  return { from: to - (found[1] ?? '').length, to };
}

function bodyLength(head: string, status: number): number {
  if (BODILESS.has(status)) return 0;
  const size = SIZE.exec(head)?.[1];
  if (size === undefined) throw new MalformedResponse('an answer without a length');
  return Number.parseInt(size.slice(1), 10);
}
