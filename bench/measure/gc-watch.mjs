// Module that is loaded into a server under measurement (`--import`) and writes the lengths of its garbage
// collections to a file, because asking the server would disturb it. One line per pause: `time milliseconds`.

import { appendFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const folder = process.env.BENCH_GC_FOLDER;
/** Minimum length of a recorded pause: there are many shorter ones, and they change no result. */
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
