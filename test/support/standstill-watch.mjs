// Module that is loaded into a node under test (`--import`) and measures for how long its serving thread
// works without a pause: nobody is answered meanwhile. On SIGUSR2 it prints `longest turn: MILLISECONDS` and
// begins anew. What counts is processor time where the system tells it (Linux): a busy machine adds none.

import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const INTERVAL_MS = 1;
const NS_PER_MS = 1_000_000;
/** First field: nanoseconds that the thread has run. The first thread of a process has the process's id. */
const STATISTICS = `/proc/self/task/${process.pid}/schedstat`;

function workedMs() {
  try {
    return Number(readFileSync(STATISTICS, 'utf8').split(' ')[0]) / NS_PER_MS;
  } catch {
    return performance.now();
  }
}

if (isMainThread) {
  let last = workedMs();
  let longest = 0;
  const look = () => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(look, INTERVAL_MS).unref();
  process.on('SIGUSR2', () => {
    look();
    process.stdout.write(`longest turn: ${longest.toFixed(1)}\n`);
    longest = 0;
  });
}
