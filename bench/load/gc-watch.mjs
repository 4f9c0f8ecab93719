// Loaded into a server under measurement (`--import`): keeps what its garbage collections cost in a file of
// its own, since a server that must not be disturbed cannot be asked. One line per pause: `time
// milliseconds`.

import { appendFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const folder = process.env.BENCH_GC_FOLDER;
/** Shorter pauses are of no interest, and there are many. */
const PAUSE_MS_MIN = 0.5;

if (folder !== undefined) {
  const file = `${folder}/${process.pid}`;
  new PerformanceObserver((list) => {
    const lines = list
      .getEntries()
      .filter(({ duration }) => duration >= PAUSE_MS_MIN)
      .map(({ startTime, duration }) => `${performance.timeOrigin + startTime} ${duration}\n`);
    if (lines.length > 0) appendFileSync(file, lines.join(''));
  }).observe({ entryTypes: ['gc'] });
}
