// Requests and responses of Node's HTTP server, as `HttpRequest` and `HttpResponse` want them.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpRequest, HttpResponse } from './http-app.ts';

const NO_BYTES = new ArrayBuffer(0);
const HIGH_BYTE = /[\u0080-\u00ff]/;
/** Size in bytes up to which bodies are written as text. */
const TEXT_BYTES_MAX = 16 * 1024;

/** Request that is being handled. */
export class NodeRequest implements HttpRequest {
  /** Whether the handler leaves the request to the one of all other requests. */
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
    // A name without `=` has no value here, as for uWebSockets.js.
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

  /** Returns the place of the first header of this name in the list of names and values; -1 without one. */
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

/** Response to a request. */
export class NodeResponse implements HttpResponse {
  readonly guardsConnection = true;
  /** Called when the connection closes before the response is ended. */
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
    // One without a body may have no end to wait for.
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
    // Node writes a short text together with the head, which costs less than two buffers.
    else this.response.end(latin1Of(body), 'latin1');
    this.connection.noteEnd(this.response, body.length);
  }
}

function latin1Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

/** Bytes for which the objects of an answer count that its client has not taken. */
const ANSWER_BYTES = 1024;
/** Bytes of answers that a connection holds for its client, with which it may ask no more. */
const UNSENT_BYTES_MAX = 256 * 1024;

/** Connection of a client, with the response that it waits for. */
export class NodeConnection {
  /** Response that is not ended. */
  current: NodeResponse | undefined;
  /** Whether no further request is read. */
  isOver = false;
  private latest: ServerResponse | undefined;
  private unsentBytes = 0;
  private lastBytes: string | undefined;

  constructor(readonly socket: Socket) {}

  /** Whether the client has not taken all that it was answered. */
  get hasUnsent(): boolean {
    return this.latest !== undefined && !this.latest.writableFinished;
  }

  /** Whether another request is served: its client waits for none, and takes its answers. */
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

  /** Gives up the response that the client waited for. */
  abort(): void {
    const { current } = this;
    this.current = undefined;
    current?.aborted?.();
  }

  /** Ends the connection with bytes of its own, behind the answers to earlier requests. */
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

// Heads: the text that begins a response, read once for all responses that begin with it.

type Head = {
  readonly status: number;
  readonly reason: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
};

const NO_HEAD: Head = { status: 200, reason: 'OK', headers: [] };
/** Maximum number of heads that are remembered: those that were built in advance are fewer. */
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
