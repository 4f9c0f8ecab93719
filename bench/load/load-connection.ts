// Connection of a load run, and the state that its connections share. Nothing is allocated per request.

import { seededRandom } from '../random.ts';
import type { Dialled, Listener } from './dial.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { type Place, type Question, RequestWriter } from './question.ts';
import { ResponseShapes } from './response-reader.ts';

export type LoadOptions = {
  readonly host: string;
  readonly port: number;
  readonly isTls?: boolean;
  /** Certificate (PEM) that a server with TLS must have, and its name; that of the host when absent. */
  readonly certificate?: string;
  readonly serverName?: string;
  readonly question: Question;
  readonly connections: number;
  /** Whether each request has a connection of its own, as devices do that ask every few minutes. */
  readonly isOneRequest?: boolean;
  /** Shortest and longest time that a connection is kept between an answer and its next request. */
  readonly gapMs?: readonly [number, number];
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly requestsMax?: number;
  /** Requests a second in the open loop; absent in the closed loop. */
  readonly rate?: number;
  /** True when the closed loop never sleeps, as the open loop never does: it takes a whole processor. */
  readonly isAwake?: boolean;
  readonly skip?: number;
  /** Process whose tree's CPU times are read at begin and end of the measured time. */
  readonly watchedRoot?: number;
};

export class LoadRun {
  readonly options: LoadOptions;
  readonly shapes = new ResponseShapes();
  readonly readBuffer = Buffer.allocUnsafe(65_536);
  readonly latency = new LatencyHistogram();
  readonly statuses = new Uint32Array(600);
  readonly errors: Record<string, number> = {};
  readonly random = seededRandom(8);
  readonly sentMax: number;
  readonly ready: LoadConnection[] = [];
  readonly isPaced: boolean;
  readonly isKeptAwake: boolean;
  isStopped = false;
  sent = 0;
  responses = 0;
  /** Connections that the server ended, told or not. */
  ended = 0;
  busyMs = 0;
  lostMs = 0;

  constructor(options: LoadOptions) {
    this.options = options;
    this.isPaced = options.rate !== undefined;
    this.isKeptAwake = options.isAwake === true && !this.isPaced;
    this.sentMax = options.requestsMax ?? Number.POSITIVE_INFINITY;
  }

  note(status: number, since: number, now: number): void {
    this.statuses[status] = (this.statuses[status] as number) + 1;
    this.latency.record(now - since);
    this.responses += 1;
  }

  fail(kind: string, count = 1): void {
    if (!this.isStopped) this.errors[kind] = (this.errors[kind] ?? 0) + count;
  }

  clear(): void {
    this.latency.clear();
    this.statuses.fill(0);
    this.responses = this.busyMs = this.lostMs = 0;
  }
}

const RECONNECT_MS = 100;

export class LoadConnection implements Listener {
  private readonly run: LoadRun;
  private readonly connect: (listener: Listener) => Dialled;
  private readonly writer: RequestWriter;
  private dialled: Dialled | undefined;
  /** Share of the requests: a connection with quicker answers would else ask for its devices again. */
  private left: number;
  /** Whether a request waits for its answer. */
  isUnanswered = false;
  private since = 0;
  private now = 0;
  /** Whether it is this side that closes the connection, or it was never open. */
  private isOwnEnd = true;

  constructor(run: LoadRun, place: Place, connect: (listener: Listener) => Dialled) {
    const { question, host, port, skip } = run.options;
    this.run = run;
    this.connect = connect;
    this.writer = new RequestWriter(question, `${host}:${port}`, place, skip);
    const share = Math.ceil((run.sentMax - place.connection) / place.connections);
    this.left = run.isPaced ? Number.POSITIVE_INFINITY : share;
  }

  get isOpen(): boolean {
    return this.dialled?.socket.readyState === 'open';
  }

  /** Connects. Also resolves when the attempt fails, because a later attempt follows. */
  open(): Promise<void> {
    const { run } = this;
    this.dialled = this.connect(this);
    const { socket, readyEvent } = this.dialled;
    return new Promise((resolve) => {
      socket.once(readyEvent, () => {
        this.isOwnEnd = false;
        const { gapMs } = run.options;
        if (run.isPaced) run.ready.push(this);
        // Spread over the longest gap, as first requests of devices that came at different times.
        if (gapMs !== undefined) this.sendWithin(0, gapMs[1]);
        resolve();
      });
      socket.once('close', () => {
        resolve();
        this.reopen();
      });
    });
  }

  close(): void {
    this.isOwnEnd = true;
    this.dialled?.socket.destroy();
  }

  sendNext(): void {
    if (this.isOpen && this.left > 0 && !this.run.isStopped) this.sendAt(performance.now());
  }

  /** Sends a request that was planned for this time, which may be in the past. */
  sendAt(planned: number): void {
    const { run } = this;
    this.since = planned;
    this.left -= 1;
    this.isUnanswered = true;
    this.dialled?.socket.write(this.writer.write((run.options.skip ?? 0) + run.sent));
    run.sent += 1;
  }

  endIfSilent(now: number, timeoutMs: number): void {
    if (!this.isUnanswered || now - this.since < timeoutMs) return;
    this.run.fail('timeout');
    this.isUnanswered = false;
    this.close();
  }

  onChunk(): void {
    this.now = performance.now();
  }

  onAnswer(status: number): void {
    this.isUnanswered = false;
    this.run.note(status, this.since, this.now);
  }

  onTaken(): void {
    const { isStopped, options, isPaced, ready } = this.run;
    if (this.isUnanswered || isStopped) return;
    // The server has said that it ends the connection, or has done so already.
    if (this.dialled?.reader.closes) this.dialled.socket.destroy();
    else if (options.isOneRequest === true) this.close();
    else if (isPaced) ready.push(this);
    else if (options.gapMs !== undefined) this.sendWithin(...options.gapMs);
    else if (this.left > 0) this.sendAt(this.now);
  }

  onError(kind: string): void {
    this.run.fail(kind);
  }

  private sendWithin(shortestMs: number, longestMs: number): void {
    const ms = shortestMs + this.run.random() * (longestMs - shortestMs);
    setTimeout(() => this.sendNext(), ms).unref();
  }

  private reopen(): void {
    const { run } = this;
    const { isOneRequest, gapMs } = run.options;
    if (run.isStopped) return;
    if (!this.isOwnEnd) run.ended += 1;
    this.isOwnEnd = true;
    const { isUnanswered } = this;
    this.isUnanswered = false;
    const isTold = this.dialled?.reader.closes === true && !isUnanswered;
    if (isUnanswered || (gapMs !== undefined && !isTold)) run.fail('connection closed');
    const again = async () => {
      if (run.isStopped || this.left === 0 || run.sent >= run.sentMax) return;
      await this.open();
      if (!run.isPaced && gapMs === undefined) this.sendNext();
    };
    if (isTold || (isOneRequest === true && !isUnanswered)) void again();
    else setTimeout(again, RECONNECT_MS);
  }
}
