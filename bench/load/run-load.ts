// Runs a load over connections: in the closed loop each asks again as soon as it is answered, in the open
// loop requests leave at fixed times whatever the answers do, and latencies count from those, so that a
// server that stalls cannot hide the requests it kept waiting. Time in which the generator could not run is
// left out.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { type CpuSample, sampleCpu } from '../machine/processes.ts';
import { startWorker, type Worker } from '../machine/worker.ts';
import { dial } from './dial.ts';
import { LoadConnection, type LoadOptions, LoadRun } from './load-connection.ts';

export type LoadResult = ReturnType<typeof resultOf>;

/** Error of requests that were due in the open loop while every connection waited for an answer. */
export const NOT_SENT = 'not sent in time';

const TIMEOUT_MS = 10_000;
const LOOK_MS = 100;
const SETTLE_SECONDS = 0.1;
const LATE_MS_MAX = 1000;
/** Time that a turn of the event loop may take, and more for each request and answer in it. */
const TURN_MS_MAX = 0.2;
const WORK_MS_MAX = 0.02;
/** Time after which a run begins without the connections that are not open yet, and more for each. */
const CONNECT_MS = 5000;
const CONNECT_EACH_MS = 1;
const OPENED_AT_ONCE = 512;
/** Kept connections from one source address: far fewer than a system has ports for. */
const PER_SOURCE = 8000;
/** Time without an answer after which the generator lets others run: the server may wait for one of them. */
const AWAKE_MS = 2;

export type Generator = Worker<LoadOptions, LoadResult>;

/** Starts a process for the runs of a benchmark, which also reads the CPU times of this one's tree. */
export function startGenerator(): Generator {
  const worker: Generator = startWorker(new URL(import.meta.url), 'runLoad');
  return { ...worker, run: (load) => worker.run({ watchedRoot: process.pid, ...load }) };
}

/** Runs a load and reports it. Errors of the server are counted and never reject. */
export async function runLoad(options: LoadOptions, onStart?: (run: LoadRun) => void) {
  const run = new LoadRun(options);
  onStart?.(run);
  const { gapMs, watchedRoot, seconds, warmupSeconds } = options;
  const connections = await openAll(run);
  const pacer = run.isPaced ? startPacing(run) : undefined;
  if (!run.isPaced && gapMs === undefined) for (const each of connections) each.sendNext();
  if (run.isKeptAwake) stayAwake(run);
  const watchdog = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.endIfSilent(now, TIMEOUT_MS);
  }, 1000);
  const isDone = () =>
    run.sent >= run.sentMax && (run.isPaced || connections.every((each) => !each.isUnanswered));
  await forSeconds(run, warmupSeconds, isDone);
  run.clear();
  const begin = sampleCpu(watchedRoot);
  if (watchedRoot !== undefined) {
    // Reading the accounts of many processes takes milliseconds, in which this one neither sends nor reads.
    await forSeconds(run, Math.min(SETTLE_SECONDS, seconds / 2), isDone);
    run.latency.clear();
  }
  await forSeconds(run, seconds - (performance.now() - begin.at) / 1000, isDone);
  // Before the accounts are read: requests that fall due meanwhile were never meant to be sent.
  const unsent = (await pacer?.finish()) ?? 0;
  const end = sampleCpu(watchedRoot);
  if (unsent > 0) run.fail(NOT_SENT, unsent);
  run.isStopped = true;
  clearInterval(watchdog);
  const open = connections.filter(({ isOpen }) => isOpen).length;
  for (const connection of connections) connection.close();
  return resultOf(run, open, begin, end);
}

function resultOf(run: LoadRun, open: number, begin: CpuSample, end: CpuSample) {
  const { responses, sent, errors, ended, lostMs, busyMs } = run;
  const counted = [...run.statuses.entries()].filter(([, count]) => count > 0);
  return {
    /** Number of answers within the measured time, and of requests sent, those of the warm-up among them. */
    ...{ responses, sent, seconds: (end.at - begin.at) / 1000, cpu: { begin, end } },
    statuses: Object.fromEntries(counted) as Record<string, number>,
    /** Connections that the server ended. */
    ended,
    /** Connections at the end, and time for which the generator was kept from running, in the open loop. */
    ...{ errors, latency: [...run.latency.counts], open, lostMs },
    /** Part of the measured time in which a generator that never slept had something to do. */
    ...(run.isKeptAwake ? { busyMs } : {}),
  };
}

/** Waits for so long; in a run of so many requests at most until each of them has its answer. */
async function forSeconds(run: LoadRun, seconds: number, isDone: () => boolean): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  const isBounded = Number.isFinite(run.sentMax);
  for (let left = seconds * 1000; left > 0; left = deadline - performance.now()) {
    await sleep(isBounded ? Math.min(left, LOOK_MS) : left);
    if (isDone()) return;
  }
}

async function openAll(run: LoadRun): Promise<LoadConnection[]> {
  const { connections, certificate, gapMs, ...address } = run.options;
  // Once for all connections: to read a certificate costs about as much as a handshake.
  const secureContext =
    certificate === undefined ? undefined : createSecureContext({ ca: certificate });
  const all = Array.from({ length: connections }, (_, connection) => {
    const source = `127.0.0.${1 + Math.floor(connection / PER_SOURCE)}`;
    const from = { ...address, secureContext, localAddress: gapMs && source };
    const place = { connection, connections };
    return new LoadConnection(run, place, (listener) => dial(from, run, listener));
  });
  const deadline = performance.now() + CONNECT_MS + connections * CONNECT_EACH_MS;
  for (let first = 0; first < connections; first += OPENED_AT_ONCE) {
    const some = all.slice(first, first + OPENED_AT_ONCE).map((connection) => connection.open());
    const left = Math.max(0, deadline - performance.now());
    await Promise.race([Promise.all(some), sleep(left, undefined, { ref: false })]);
  }
  return all;
}

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

/** Sends what is due at every turn of the event loop: a timer would be late by up to a millisecond. */
function startPacing(run: LoadRun) {
  let begin = performance.now();
  let lastTurn = begin;
  let done = 0;
  const gapMs = 1000 / (run.options.rate ?? 0);
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
      const connection = run.ready.shift();
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
      while (paced < dueMax && performance.now() < deadline) await nextTurn();
      isOn = false;
      return Math.max(0, dueMax - paced);
    },
  };
}
