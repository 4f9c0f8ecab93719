// A load run: so many connections that each ask again as soon as they are answered (closed loop), or requests
// at fixed times whatever the answers do (open loop). In the open loop a latency counts from when the request
// was meant to leave, so a server that stalls cannot hide the requests it kept waiting. Time in which the
// generator itself was kept from running does not exist for it: no request was meant to leave then.

import { type CpuSample, sampleCpu } from './cpu-account.ts';
import { dial } from './dial.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { LoadConnection, type ReadyQueue } from './load-connection.ts';
import type { Question } from './question.ts';
import { ResponseShapes } from './response-reader.ts';

export type LoadOptions = {
  readonly host: string;
  readonly port: number;
  readonly isTls?: boolean;
  readonly question: Question;
  readonly connections: number;
  /** Requests sent at once on a connection; 1 is one at a time. */
  readonly pipelining: number;
  /** Measured time. */
  readonly seconds: number;
  /** Time before it, under the same load. */
  readonly warmupSeconds: number;
  /** Closed loop only: ends after about this many requests, if that is sooner. */
  readonly requestsMax?: number;
  /** Requests a second, open loop; absent: closed loop. */
  readonly rate?: number;
  /** Whether the closed loop never sleeps, as the open loop never does: it takes a whole processor. */
  readonly isAwake?: boolean;
  /** Requests that other runs made before. */
  readonly skip?: number;
  /** The process whose tree's CPU times are read at begin and end of the measured time. */
  readonly watchedRoot?: number;
};

export type LoadResult = {
  /** Answers within the measured time. */
  readonly responses: number;
  /** All requests sent, with those of the warm-up. */
  readonly sent: number;
  readonly seconds: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** What went wrong, by kind. */
  readonly errors: Readonly<Record<string, number>>;
  readonly latency: readonly number[];
  /** Of a generator that never slept: how much of the measured time it had something to do. */
  readonly busyMs?: number;
  /** In the open loop: how long the generator was kept from running. */
  readonly lostMs: number;
  readonly cpu: { readonly begin: CpuSample; readonly end: CpuSample };
};

/** The error of requests that were due in the open loop and could not be sent, since no answer came. */
export const NOT_SENT = 'not sent in time';

const TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
const SETTLE_SECONDS = 0.1;
/** What is still to be sent at the end of the open loop has this long: late, but not forgotten. */
const LATE_MS_MAX = 1000;
/** What a turn of the generator's event loop can take, and more for each request and answer in it. */
const TURN_MS_MAX = 0.2;
const WORK_MS_MAX = 0.02;
/** A slow begin, such as many connections at once, is no error of the measured time. */
const CONNECT_TIMEOUT_MS = 5000;

/** What the connections of one run share. */
export class LoadRun {
  readonly options: LoadOptions;
  readonly shapes = new ResponseShapes();
  readonly latency = new LatencyHistogram();
  readonly statuses = new Uint32Array(600);
  readonly errors = new Map<string, number>();
  /** One for all: what is read is looked at before the next connection reads. */
  readonly readBuffer = Buffer.allocUnsafe(65_536);
  /** Requests of earlier runs. */
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

  /** Begins the measured time: forgets the answers so far, but no error. */
  clear(): void {
    this.latency.clear();
    this.statuses.fill(0);
    this.responses = 0;
    this.busyMs = 0;
    this.lostMs = 0;
  }
}

/** Runs a load and reports it. Never rejects for what the server does: that is counted. */
export async function runLoad(
  options: LoadOptions,
  onStart: (run: LoadRun) => void = () => undefined,
): Promise<LoadResult> {
  const run = new LoadRun(options);
  onStart(run);
  const ready = options.rate === undefined ? undefined : createReadyQueue(options.connections);
  const connections = await openAll(run, ready);
  const pacer = ready === undefined ? undefined : startPacing(run, ready, options.rate ?? 0);
  if (pacer === undefined) for (const connection of connections) connection.sendNext();
  if (isKeptAwake(options)) stayAwake(run);
  const watchdog = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.endIfSilent(now, TIMEOUT_MS);
  }, 1000);
  await forSeconds(run, options.warmupSeconds);
  run.clear();
  const begin = sampleCpu(options.watchedRoot);
  if (options.watchedRoot !== undefined) {
    // Reading the accounts of many processes takes milliseconds, in which this one neither sends nor hears.
    await forSeconds(run, Math.min(SETTLE_SECONDS, options.seconds / 2));
    run.latency.clear();
  }
  await forSeconds(run, options.seconds - (performance.now() - begin.at) / 1000);
  // First of all: what falls due while the accounts are read was never to be sent.
  const unsent = (await pacer?.finish()) ?? 0;
  const end = sampleCpu(options.watchedRoot);
  if (unsent > 0) run.fail(NOT_SENT, unsent);
  run.isStopped = true;
  clearInterval(watchdog);
  for (const connection of connections) connection.close();
  return resultOf(run, begin, end);
}

function resultOf(run: LoadRun, begin: CpuSample, end: CpuSample): LoadResult {
  const statuses: Record<string, number> = {};
  for (const [status, count] of run.statuses.entries()) {
    if (count > 0) statuses[String(status)] = count;
  }
  return {
    responses: run.responses,
    sent: run.sent,
    seconds: (end.at - begin.at) / 1000,
    statuses,
    errors: Object.fromEntries(run.errors),
    latency: [...run.latency.counts],
    ...(isKeptAwake(run.options) ? { busyMs: run.busyMs } : {}),
    lostMs: run.lostMs,
    cpu: { begin, end },
  };
}

/** Returns early when all requests of a bounded run are answered or lost. */
async function forSeconds(run: LoadRun, seconds: number): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  for (let left = seconds * 1000; left > 0; left = deadline - performance.now()) {
    const isBounded = Number.isFinite(run.sentMax);
    await new Promise((resolve) => setTimeout(resolve, isBounded ? Math.min(left, LOOK_MS) : left));
    if (run.sent >= run.sentMax) return;
  }
}

async function openAll(run: LoadRun, ready: ReadyQueue | undefined): Promise<LoadConnection[]> {
  const { connections } = run.options;
  const all = Array.from(
    { length: connections },
    (_, connection) =>
      new LoadConnection(run, { connection, connections }, ready, (onread) =>
        dial(run.options, onread),
      ),
  );
  const timeout = new Promise((resolve) => setTimeout(resolve, CONNECT_TIMEOUT_MS).unref());
  await Promise.race([Promise.all(all.map((connection) => connection.open())), timeout]);
  return all;
}

function isKeptAwake({ isAwake, rate }: LoadOptions): boolean {
  return isAwake === true && rate === undefined;
}

/** A generator without an answer for so long lets others run: the server may be waiting for one of them. */
const AWAKE_MS = 2;

/**
 * Keeps the event loop turning until the run stops. A generator that sleeps is woken by the server's answer,
 * and in the server's time: the slower a server, the more often it would pay for that. Counts the time of
 * turns in which something was sent, since the processor's own account says that all of them worked.
 */
function stayAwake(run: LoadRun): void {
  let { sent } = run;
  let at = performance.now();
  let sentAt = at;
  const turn = (): void => {
    if (run.isStopped) return;
    const now = performance.now();
    if (run.sent !== sent) {
      run.busyMs += now - at;
      sentAt = now;
    }
    sent = run.sent;
    at = now;
    if (now - sentAt < AWAKE_MS) setImmediate(turn);
    else setTimeout(turn, 1);
  };
  turn();
}

/** A ring of the connections that wait for work: first come, first served, so that all take part. */
function createReadyQueue(connections: number): ReadyQueue {
  const ring: (LoadConnection | undefined)[] = new Array(connections + 1).fill(undefined);
  let from = 0;
  let to = 0;
  return {
    push(connection) {
      ring[to] = connection;
      to = to === connections ? 0 : to + 1;
    },
    shift() {
      if (from === to) return undefined;
      const connection = ring[from];
      from = from === connections ? 0 : from + 1;
      return connection;
    },
  };
}

/**
 * Sends what is due, at every turn of the event loop: a timer would be late by up to a millisecond.
 * `finish` sends what was due by then and answers how many requests could not be sent.
 */
function startPacing(run: LoadRun, ready: ReadyQueue, rate: number) {
  let begin = performance.now();
  let lastTurn = begin;
  let done = 0;
  const gapMs = 1000 / rate;
  const dueNow = () => Math.floor((performance.now() - begin) / gapMs);
  let dueMax = Number.POSITIVE_INFINITY;
  let paced = 0;
  let isOn = true;
  const turn = (): void => {
    if (!isOn) return;
    const now = performance.now();
    const ms = now - lastTurn;
    const work = run.sent + run.responses - done;
    if (ms > TURN_MS_MAX + work * WORK_MS_MAX) {
      begin += ms;
      run.lostMs += ms;
    }
    lastTurn = now;
    done = run.sent + run.responses;
    const due = Math.min(dueNow(), dueMax);
    while (paced < due) {
      const connection = ready.shift();
      if (connection === undefined) break;
      connection.sendAt(begin + (paced + 1) * gapMs);
      paced += 1;
    }
    setImmediate(turn);
  };
  turn();
  return {
    async finish(): Promise<number> {
      dueMax = dueNow();
      const deadline = performance.now() + LATE_MS_MAX;
      while (paced < dueMax && performance.now() < deadline) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      isOn = false;
      return Math.max(0, dueMax - paced);
    },
  };
}
