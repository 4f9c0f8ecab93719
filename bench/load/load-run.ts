// State that the connections of a load run share: its requests, its length and its counts.

import { LatencyHistogram } from './latency-histogram.ts';
import type { Question } from './question.ts';
import { ResponseShapes } from './response-reader.ts';

export type LoadOptions = {
  readonly host: string;
  readonly port: number;
  readonly isTls?: boolean;
  /** Certificate (PEM) that a server with TLS must have; one that the system trusts when absent. */
  readonly certificate?: string;
  readonly question: Question;
  readonly connections: number;
  /** Whether each request has a connection of its own, as devices do that ask every few minutes. */
  readonly isOneRequest?: boolean;
  /** Requests sent at once on a connection; 1 is one at a time. */
  readonly pipelining: number;
  /** Length of the measured time. */
  readonly seconds: number;
  /** Length of the warm-up before the measured time, under the same load. */
  readonly warmupSeconds: number;
  /** Number of requests after which the run ends before its time is up. */
  readonly requestsMax?: number;
  /** Requests a second in the open loop; absent in the closed loop. */
  readonly rate?: number;
  /** True when the closed loop never sleeps, as the open loop never does: it takes a whole processor. */
  readonly isAwake?: boolean;
  /** Number of requests that other runs made before. */
  readonly skip?: number;
  /** Process whose tree's CPU times are read at begin and end of the measured time. */
  readonly watchedRoot?: number;
};

/** State that the connections of one run share. */
export class LoadRun {
  readonly options: LoadOptions;
  readonly shapes = new ResponseShapes();
  readonly latency = new LatencyHistogram();
  readonly statuses = new Uint32Array(600);
  readonly errors = new Map<string, number>();
  /** Memory that all connections read into, since each chunk is looked at before the next one is read. */
  readonly readBuffer = Buffer.allocUnsafe(65_536);
  /** Number of requests of earlier runs. */
  readonly skipped: number;
  readonly sentMax: number;
  isStopped = false;
  sent = 0;
  responses = 0;
  busyMs = 0;
  lostMs = 0;

  constructor(options: LoadOptions) {
    this.options = options;
    this.skipped = options.skip ?? 0;
    this.sentMax = options.requestsMax ?? Number.POSITIVE_INFINITY;
  }

  /** Counts an answer whose request left, or should have left, at `since`. */
  note(status: number, since: number, now: number): void {
    this.statuses[status] = (this.statuses[status] as number) + 1;
    this.latency.record(now - since);
    this.responses += 1;
  }

  fail(kind: string, count = 1): void {
    if (!this.isStopped) this.errors.set(kind, (this.errors.get(kind) ?? 0) + count);
  }

  /** Begins the measured time: forgets the answers so far, and keeps the errors. */
  clear(): void {
    this.latency.clear();
    this.statuses.fill(0);
    this.responses = 0;
    this.busyMs = 0;
    this.lostMs = 0;
  }
}
