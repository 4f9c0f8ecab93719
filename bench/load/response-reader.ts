// Reads HTTP/1.1 answers off one connection, for a client that has to be cheaper than the server. An answer
// that looks like one it has seen (same status, same length, head ending at the same place) is recognised
// by a few bytes; every other goes through a real parser, also when it comes in pieces.

const CR = 13;
const LF = 10;
const ZERO = 48;
const H = 72;
const T = 84;
/** `HTTP/1.1 ` comes before the status. */
const STATUS_AT = 9;
const HEAD_BYTES_MAX = 65_536;
/** A bound on what a strange server could make us remember. */
const SHAPES_MAX = 64;

/** What the answers of one status and one length have in common. */
type Shape = { readonly status: number; readonly headLength: number; readonly length: number };

export class MalformedResponse extends Error {}

/** Shapes are shared by the connections of a run: each is learned once. */
export class ResponseShapes {
  private readonly byLength = new Map<number, Shape>();
  private last: Shape | undefined;

  learn(shape: Shape): void {
    if (this.byLength.size < SHAPES_MAX) this.byLength.set(shape.length, shape);
    this.last = shape;
  }

  /** The shape of the whole answer that begins here; undefined when that cannot be told at a glance. */
  recognise(chunk: Uint8Array, at: number, end: number): Shape | undefined {
    let shape = this.last;
    if (shape === undefined || !isAt(shape, chunk, at, end)) {
      shape = this.byLength.get(end - at);
      if (shape === undefined || !isAt(shape, chunk, at, end)) return undefined;
      this.last = shape;
    }
    return shape;
  }
}

/** A head of the shape's length, and after the answer either nothing or the next one's begin. */
function isAt({ status, headLength, length }: Shape, chunk: Uint8Array, at: number, end: number) {
  const next = at + length;
  const bodyAt = at + headLength;
  return (
    (next === end || (next < end && chunk[next] === H && chunk[next + 1] === T)) &&
    chunk[bodyAt - 1] === LF &&
    chunk[bodyAt - 2] === CR &&
    chunk[bodyAt - 3] === LF &&
    readStatus(chunk, at) === status
  );
}

export class ResponseReader {
  private readonly shapes: ResponseShapes;
  private readonly onResponse: (status: number) => void;
  private pending: Buffer = Buffer.alloc(0);
  /** Body bytes of the present answer that are still to come. */
  private bodyLeft = 0;
  private status = 0;
  private isClosing = false;

  constructor(shapes: ResponseShapes, onResponse: (status: number) => void) {
    this.shapes = shapes;
    this.onResponse = onResponse;
  }

  /** Whether the server said that the answer was its connection's last. */
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
        // A copy: the chunk's memory belongs to the socket.
        this.pending = Buffer.from(rest);
        return;
      }
      rest = this.begin(rest, headEnd + 4);
    }
  }

  /** Begins an answer whose head is complete; what follows the head. */
  private begin(bytes: Buffer, headLength: number): Buffer {
    const head = bytes.toString('latin1', 0, headLength);
    if (!/^HTTP\/1\.1 [1-5]\d\d/.test(head)) throw new MalformedResponse(head.slice(0, 60));
    if (/^transfer-encoding:/im.test(head)) throw new MalformedResponse('transfer encodings');
    this.status = readStatus(bytes, 0);
    this.isClosing = /^connection:\s*close\s*$/im.test(head);
    this.bodyLeft = bodyLength(head, this.status);
    const length = headLength + this.bodyLeft;
    if (!this.isClosing) this.shapes.learn({ status: this.status, headLength, length });
    if (this.bodyLeft === 0) this.onResponse(this.status);
    return bytes.subarray(headLength);
  }
}

function readStatus(chunk: Uint8Array, at: number): number {
  const hundreds = (chunk[at + STATUS_AT] as number) - ZERO;
  const tens = (chunk[at + STATUS_AT + 1] as number) - ZERO;
  return hundreds * 100 + tens * 10 + ((chunk[at + STATUS_AT + 2] as number) - ZERO);
}

function bodyLength(head: string, status: number): number {
  if (status === 204 || status === 304) return 0;
  const length = /^content-length:\s*(\d+)\s*$/im.exec(head)?.[1];
  if (length === undefined) throw new MalformedResponse('an answer without a length');
  return Number(length);
}
