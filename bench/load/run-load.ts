// Runs a load over connections: in the closed loop each asks again as soon as it is answered, in the open
// loop requests leave at fixed times whatever the answers do. In the open loop a latency counts from the time
// at which the request was meant to leave, so that a server that stalls cannot hide the requests it kept
// waiting. Time in which the system kept the generator from running is left out: no request was meant to
// leave then.

import { createSecureContext } from 'node:tls';
import { type CpuSample, sampleCpu } from '../machine/cpu-account.ts';
import { dial } from './dial.ts';
import { LoadConnection, type ReadyQueue } from './load-connection.ts';
import { type LoadOptions, LoadRun } from './load-run.ts';

export type LoadResult = {
  /** Number of answers within the measured time. */
  readonly responses: number;
  /** Number of requests sent, those of the warm-up among them. */
  readonly sent: number;
  readonly seconds: number;
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of errors by kind. */
  readonly errors: Readonly<Record<string, number>>;
  readonly latency: readonly number[];
  /** Part of the measured time in which a generator that never slept had something to do. */
  readonly busyMs?: number;
  /** Time for which the generator was kept from running, in the open loop. */
  readonly lostMs: number;
  readonly cpu: { readonly begin: CpuSample; readonly end: CpuSample };
};

/**
 * Error of requests that were due in the open loop and could not be sent, because every connection was still
 * waiting for an answer.
 */
export const NOT_SENT = 'not sent in time';

const TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
const SETTLE_SECONDS = 0.1;
/** Time in which requests that were due by the end of the open loop may still be sent. */
const LATE_MS_MAX = 1000;
/**
 * Time that a turn of the generator's event loop may take, and further time for each request and answer in
 * it.
 */
const TURN_MS_MAX = 0.2;
const WORK_MS_MAX = 0.02;
/** Time after which a run begins without the connections that are not open yet, which is no error. */
const CONNECT_TIMEOUT_MS = 5000;

/** Runs a load and reports it. Errors of the server are counted and never reject. */
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
    // Reading the accounts of many processes takes milliseconds, in which this one neither sends nor reads.
    await forSeconds(run, Math.min(SETTLE_SECONDS, options.seconds / 2));
    run.latency.clear();
  }
  await forSeconds(run, options.seconds - (performance.now() - begin.at) / 1000);
  // Before the accounts are read: requests that fall due meanwhile were never meant to be sent.
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
  const { connections, certificate } = run.options;
  // Once for all connections: to read a certificate costs about as much as a handshake.
  const secureContext =
    certificate === undefined ? undefined : createSecureContext({ ca: certificate });
  const all = Array.from(
    { length: connections },
    (_, connection) =>
      new LoadConnection(run, { connection, connections }, ready, (onread) =>
        dial(run.options, onread, { secureContext }),
      ),
  );
  const timeout = new Promise((resolve) => setTimeout(resolve, CONNECT_TIMEOUT_MS).unref());
  await Promise.race([Promise.all(all.map((connection) => connection.open())), timeout]);
  return all;
}

function isKeptAwake({ isAwake, rate }: LoadOptions): boolean {
  return isAwake === true && rate === undefined;
}

/** Time without an answer after which the generator lets others run: the server may wait for one of them. */
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

/** Ring of the connections that wait for work: first come, first served, so that all take part. */
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
