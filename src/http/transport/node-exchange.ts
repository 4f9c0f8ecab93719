// Requests, responses and connections of Node's HTTP server, behind `HttpRequest` and `HttpResponse`.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpRequest, HttpResponse } from './http-app.ts';

const NO_BYTES = new ArrayBuffer(0);
const HIGH_BYTE = /[\u0080-\u00ff]/;
/** Maximum bytes of a buffer that is written as text (see `finish`). */
const TEXT_BYTES_MAX = 16 * 1024;

/** Request to Node's server. */
export class NodeRequest implements HttpRequest {
  /** Whether the handler passes the request on to the handler of all other requests. */
  isYielded = false;
  private readonly path: string;
  private readonly query: string | undefined;

  constructor(private readonly message: IncomingMessage) {
    const { url = '' } = message;
    const mark = url.indexOf('?');
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? undefined : url.slice(mark + 1);
  }

  getMethod(): string {
    return (this.message.method ?? '').toLowerCase();
  }

  getUrl(): string {
    return this.path;
  }

  getQuery(key?: string): string | undefined {
    const { query } = this;
    if (key === undefined || query === undefined || !query.includes(key)) {
      return key === undefined ? query : undefined;
    }
    // A parameter without `=` counts as absent, as in uWebSockets.js.
    const part = query.split('&').find((each) => each.startsWith(`${key}=`));
    return part === undefined ? undefined : (new URLSearchParams(part).get(key) ?? undefined);
  }

  getHeader(lowerCaseName: string): string {
    const index = this.indexOf(lowerCaseName);
    return index === -1 ? '' : (this.message.rawHeaders[index + 1] as string);
  }

  hasHeader(lowerCaseName: string): boolean {
    return this.indexOf(lowerCaseName) !== -1;
  }

  /** Returns the index of the first header of this name in `rawHeaders` (names and values), or -1. */
  private indexOf(lowerCaseName: string): number {
    const { rawHeaders } = this.message;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      if (name.length !== lowerCaseName.length) continue;
      if (name === lowerCaseName || name.toLowerCase() === lowerCaseName) return index;
    }
    return -1;
  }

  forEach(tell: (name: string, value: string) => void): void {
    const { rawHeaders } = this.message;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const value = rawHeaders[index + 1] as string;
      tell(
        (rawHeaders[index] as string).toLowerCase(),
        HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString() : value,
      );
    }
  }

  setYield(isYielded: boolean): void {
    this.isYielded = isYielded;
  }
}

/** Response of Node's server. */
export class NodeResponse implements HttpResponse {
  readonly guardsConnection = true;
  /** Listener that is called when the connection closes before the response is ended. */
  aborted: (() => void) | undefined;
  private head: Head = NO_HEAD;
  private headers: string[] = [];
  private offset = 0;
  private isEnded = false;

  constructor(
    private readonly connection: NodeConnection,
    private readonly message: IncomingMessage,
    private readonly response: ServerResponse,
  ) {}

  /** Whether the body of the request has arrived. */
  get hasWholeRequest(): boolean {
    return this.message.complete;
  }

  writeStatus(text: string): void {
    this.head = headOf(text);
    this.headers = this.head.headers.slice();
  }

  writeHeader(name: string, value: string): void {
    if (name === 'Connection') this.connection.isOver = true;
    this.headers.push(name, value);
  }

  end(body: string | Uint8Array = '', closesConnection = false): void {
    if (!this.response.headersSent) {
      if (closesConnection) this.writeHeader('Connection', 'close');
      this.sendHead(typeof body === 'string' ? Buffer.byteLength(body) : body.length);
    }
    this.finish(body);
  }

  endWithoutBody(): void {
    this.sendHead(undefined);
    this.finish('');
  }

  tryEnd(chunk: Uint8Array, bytes: number): [isTaken: boolean, isDone: boolean] {
    if (!this.response.headersSent) this.sendHead(bytes);
    this.offset += chunk.length;
    if (this.offset >= bytes) {
      this.finish(chunk);
      return [true, true];
    }
    return [this.response.write(chunk), false];
  }

  write(chunk: string): boolean {
    if (!this.response.headersSent) this.sendHead(undefined);
    return this.response.write(chunk);
  }

  cork(write: () => void): void {
    write();
  }

  close(): void {
    this.connection.socket.destroy();
  }

  onAborted(listener: () => void): void {
    this.aborted = listener;
  }

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.message.on('data', ({ buffer, byteOffset, byteLength }: Buffer<ArrayBuffer>) => {
      if (!this.isEnded) listener(buffer.slice(byteOffset, byteOffset + byteLength), false);
    });
    const end = () => {
      if (!this.isEnded) listener(NO_BYTES, true);
    };
    // A request without a body may have ended already: then no `end` follows.
    if (this.message.readableEnded) process.nextTick(end);
    else this.message.on('end', end);
  }

  onWritable(listener: (offset: number) => boolean): void {
    this.response.on('drain', () => {
      if (!this.isEnded) listener(this.offset);
    });
  }

  getWriteOffset(): number {
    return this.offset;
  }

  getRemoteAddressAsText(): string {
    return this.connection.socket.remoteAddress ?? '';
  }

  private sendHead(length: number | undefined): void {
    const { head, headers } = this;
    if (length !== undefined) headers.push('Content-Length', String(length));
    this.response.writeHead(head.status, head.reason, headers);
  }

  private finish(body: string | Uint8Array): void {
    this.isEnded = true;
    if (typeof body === 'string' || body.length > TEXT_BYTES_MAX) this.response.end(body);
    // Node writes a short text together with the head, which is cheaper than writing two buffers.
    else this.response.end(latin1Of(body), 'latin1');
    this.connection.noteEnd(this.response, body.length);
  }
}

function latin1Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

/** Bytes that each unread answer counts beside its body, for the memory of its objects. */
const ANSWER_BYTES = 1024;
/** Number of bytes of unread answers from which a connection may send no further request. */
const UNSENT_BYTES_MAX = 256 * 1024;

/** Connection of a client, with the response that the client waits for. */
export class NodeConnection {
  /** Response that has not ended; undefined between requests. */
  current: NodeResponse | undefined;
  /** Whether the connection serves no further request. */
  isOver = false;
  private latest: ServerResponse | undefined;
  private unsentBytes = 0;
  private lastBytes: string | undefined;

  constructor(readonly socket: Socket) {}

  /** Whether the client has not read all of its answers. */
  get hasUnsent(): boolean {
    return this.latest !== undefined && !this.latest.writableFinished;
  }

  /** Whether the connection may send a request: no response is open, and the client reads its answers. */
  get admits(): boolean {
    if (this.current !== undefined) return false;
    return this.unsentBytes < UNSENT_BYTES_MAX || !this.hasUnsent;
  }

  noteEnd(response: ServerResponse, bytes: number): void {
    if (!this.hasUnsent) this.unsentBytes = 0;
    this.unsentBytes += ANSWER_BYTES + bytes;
    this.latest = response;
    this.current = undefined;
    if (this.lastBytes !== undefined) this.endWith(this.lastBytes);
  }

  /** Abandons the open response, and calls its listener. */
  abort(): void {
    const { current } = this;
    this.current = undefined;
    current?.aborted?.();
  }

  /** Ends the connection with these bytes, after the answers to earlier requests. */
  endWith(bytes: string): void {
    this.isOver = true;
    if (this.current !== undefined) {
      this.lastBytes = bytes;
      return;
    }
    const end = () => {
      this.socket.end(bytes);
      this.socket.destroySoon();
    };
    if (this.hasUnsent) this.latest?.once('finish', end);
    else end();
  }
}

// Heads: the text of `ReplyHead` is parsed once, for all responses that begin with it.

type Head = {
  readonly status: number;
  readonly reason: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
};

const NO_HEAD: Head = { status: 200, reason: 'OK', headers: [] };
/** Maximum number of cached heads, above the number of those that the service builds in advance. */
const HEADS_MAX = 1000;
const heads = new Map<string, Head>();

function headOf(text: string): Head {
  let head = heads.get(text);
  if (head === undefined) {
    head = readHead(text);
    if (heads.size >= HEADS_MAX) heads.clear();
    heads.set(text, head);
  }
  return head;
}

function readHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const headers = lines.flatMap((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  return { status: Number(statusLine.slice(0, 3)), reason: statusLine.slice(4), headers };
}
