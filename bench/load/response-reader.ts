// Reads HTTP/1.1 answers off one connection, for a client that has to be cheaper than the server. An answer
// of a known shape (same status, same length, head ending at the same position) is recognised by a few bytes.
// Every other answer, and every answer that comes in pieces, goes through a full parser.

const [CR, LF, ZERO] = [13, 10, 48] as const;
const SIZE = /^content-length(:[ \t]*\d+[ \t]*\r\n)/im;
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
const STATUS_AT = 9;
const ANSWER_BYTES_MAX = 1_048_576;
const SHAPES_MAX = 64;

/** Form that the answers of one status and one length have in common. */
type Shape = {
  readonly status: number;
  readonly headLength: number;
  /** Position of `: `, the digits and the line's end of Content-Length; `to` is 0 when there is none. */
  readonly from: number;
  readonly to: number;
  readonly sizeText: Uint8Array;
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
  const isHead = chunk[bodyAt - 1] === LF && chunk[bodyAt - 2] === CR && chunk[bodyAt - 3] === LF;
  if (!isHead) return false;
  for (let place = shape.from, index = 0; place < shape.to; place++, index++) {
    if (chunk[at + place] !== shape.sizeText[index]) return false;
  }
  return true;
}

export class ResponseReader {
  private readonly shapes: ResponseShapes;
  private readonly onResponse: (status: number) => void;
  private pending: Buffer = Buffer.alloc(0);
  /** True when the server said that the last answer was its connection's last. */
  closes = false;

  constructor(shapes: ResponseShapes, onResponse: (status: number) => void) {
    this.shapes = shapes;
    this.onResponse = onResponse;
  }

  /** Takes what came in; the chunk may be reused afterwards. Throws `MalformedResponse`. */
  take(chunk: Buffer, length: number): void {
    let at = 0;
    while (this.pending.length === 0 && at < length) {
      const shape = this.shapes.recognise(chunk, at, length);
      if (shape === undefined) break;
      at += shape.length;
      this.onResponse(shape.status);
    }
    if (at < length) this.parse(Buffer.concat([this.pending, chunk.subarray(at, length)]));
  }

  private parse(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      const headEnd = rest.indexOf('\r\n\r\n');
      const shape = headEnd < 0 ? undefined : this.shapeOf(rest, headEnd + 4);
      if (shape === undefined || shape.length > rest.length) break;
      rest = rest.subarray(shape.length);
      this.onResponse(shape.status);
    }
    if (rest.length > ANSWER_BYTES_MAX) throw new MalformedResponse('an answer without an end');
    this.pending = rest;
  }

  private shapeOf(bytes: Buffer, headLength: number): Shape {
    const head = bytes.toString('latin1', 0, headLength);
    if (!/^HTTP\/1\.1 [1-5]\d\d/.test(head)) throw new MalformedResponse(head.slice(0, 60));
    if (/^transfer-encoding:/im.test(head)) throw new MalformedResponse('transfer encodings');
    this.closes = /^connection:\s*close\s*$/im.test(head);
    const status = readStatus(bytes, 0);
    const found = BODILESS.has(status) ? undefined : SIZE.exec(head);
    if (found === null) throw new MalformedResponse('an answer without a length');
    const [line, text] = found ?? ['', ''];
    const to = (found?.index ?? 0) + line.length;
    const from = to - (text?.length ?? 0);
    const length = headLength + Number.parseInt(text?.slice(1) || '0', 10);
    const sizeText = Uint8Array.from(bytes.subarray(from, to));
    const shape = { status, headLength, from, to, sizeText, length };
    if (!this.closes && length <= bytes.length) this.shapes.learn(shape);
    return shape;
  }
}

function readStatus(chunk: Uint8Array, at: number): number {
  const hundreds = (chunk[at + STATUS_AT] as number) - ZERO;
  const tens = (chunk[at + STATUS_AT + 1] as number) - ZERO;
  return hundreds * 100 + tens * 10 + ((chunk[at + STATUS_AT + 2] as number) - ZERO);
}
