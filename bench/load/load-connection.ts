// Connection of a load run: sends, reads, reconnects. Nothing is allocated per request.

import type { Dialled, Read } from './dial.ts';
import type { LoadRun } from './load-run.ts';
import { type Place, RequestWriter } from './question.ts';
import { MalformedResponse, ResponseReader } from './response-reader.ts';

/** Connections that wait to be told to send. */
export type ReadyQueue = {
  push(connection: LoadConnection): void;
  shift(): LoadConnection | undefined;
};

export type Connect = (read: Read) => Dialled;

const RECONNECT_MS = 100;

export class LoadConnection {
  private readonly run: LoadRun;
  private readonly ready: ReadyQueue | undefined;
  private readonly connect: Connect;
  private readonly writer: RequestWriter;
  private readonly pipelining: number;
  /** Memory in which pipelined requests are gathered; empty when they go one at a time. */
  private readonly batch: Buffer;
  private reader: ResponseReader;
  private socket: Dialled['socket'] | undefined;
  /**
   * Number of requests that may still be sent. Each connection has its share: one whose answers come sooner
   * would otherwise ask for its devices again, and those of a slow one would not be asked for at all.
   */
  private left: number;
  /** Number of requests that are not answered yet. */
  private unanswered = 0;
  /** Time when the unanswered requests left, or should have left. */
  private since = 0;
  private now = 0;

  constructor(run: LoadRun, place: Place, ready: ReadyQueue | undefined, connect: Connect) {
    const { question, host, port, pipelining, skip } = run.options;
    this.run = run;
    this.ready = ready;
    this.connect = connect;
    this.writer = new RequestWriter(question, `${host}:${port}`, place, skip);
    this.pipelining = ready === undefined ? pipelining : 1;
    this.left = ready === undefined ? shareOf(run.sentMax, place) : Number.POSITIVE_INFINITY;
    const batchLength = this.pipelining === 1 ? 0 : this.writer.lengthMax * this.pipelining;
    this.batch = Buffer.allocUnsafe(batchLength);
    this.reader = this.newReader();
  }

  /** Connects. Also resolves when the attempt fails, because a later attempt follows. */
  open(): Promise<void> {
    this.reader = this.newReader();
    this.unanswered = 0;
    return new Promise((resolve) => {
      const { socket, readyEvent } = this.connect({
        buffer: this.run.readBuffer,
        callback: (length, chunk) => this.take(chunk, length),
      });
      this.socket = socket;
      socket.once(readyEvent, () => {
        this.ready?.push(this);
        resolve();
      });
      socket.once('error', (error: NodeJS.ErrnoException) => {
        this.run.fail(error.code ?? error.message);
        resolve();
      });
      socket.once('close', () => this.reopen());
    });
  }

  close(): void {
    this.socket?.destroy();
  }

  /** Sends the next requests at once, as the closed loop does. */
  sendNext(): void {
    if (this.socket?.readyState !== 'open' || this.left === 0) return;
    this.since = performance.now();
    this.send();
  }

  /** Sends a request that was planned for this time, which may be in the past. */
  sendAt(planned: number): void {
    this.since = planned;
    this.send();
  }

  /** Ends the connection when an answer has not come within the time limit. */
  endIfSilent(now: number, timeoutMs: number): void {
    if (this.unanswered === 0 || now - this.since < timeoutMs) return;
    this.run.fail('timeout');
    this.unanswered = 0;
    this.socket?.destroy();
  }

  private newReader(): ResponseReader {
    return new ResponseReader(this.run.shapes, (status) => {
      this.unanswered -= 1;
      this.run.note(status, this.since, this.now);
    });
  }

  private send(): void {
    const { run, pipelining, socket } = this;
    const count = Math.min(pipelining, this.left);
    this.left -= count;
    this.unanswered = count;
    if (pipelining === 1) {
      socket?.write(this.writer.write(run.skipped + run.sent));
      run.sent += 1;
      return;
    }
    let length = 0;
    for (let index = 0; index < count; index++) {
      length += this.writer.write(run.skipped + run.sent).copy(this.batch, length);
      run.sent += 1;
    }
    socket?.write(this.batch.subarray(0, length));
  }

  private take(chunk: Buffer, length: number): boolean {
    const { run } = this;
    this.now = performance.now();
    try {
      this.reader.take(chunk, length);
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      run.fail(`malformed answer: ${error.message}`);
      this.socket?.destroy();
      return false;
    }
    if (this.unanswered > 0 || run.isStopped) return true;
    if (this.reader.closes || run.options.isOneRequest === true) this.socket?.destroy();
    else if (this.ready !== undefined) this.ready.push(this);
    else if (this.left > 0) {
      this.since = this.now;
      this.send();
    }
    return true;
  }

  private reopen(): void {
    const { run } = this;
    if (run.isStopped) return;
    if (this.unanswered > 0) run.fail('connection closed');
    const again = async () => {
      if (run.isStopped || this.left === 0 || run.sent >= run.sentMax) return;
      await this.open();
      if (this.ready === undefined) this.sendNext();
    };
    if (run.options.isOneRequest === true && this.unanswered === 0) void again();
    else setTimeout(again, RECONNECT_MS);
  }
}

/** Number of all requests that a connection sends when as many as possible send the same number. */
function shareOf(sentMax: number, { connection, connections }: Place): number {
  return Math.ceil((sentMax - connection) / connections);
}
