// Loaded into a node by NODE_OPTIONS: measures for how long its event loop was blocked. Each SIGUSR2 writes the
// longest time since the last one, in milliseconds, to a file in the folder that EVENT_LOOP_PROBE names.

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const NS_PER_MS = 1_000_000;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
process.on('SIGUSR2', () => {
  const path = join(process.env.EVENT_LOOP_PROBE ?? '', String(process.pid));
  const blockedMs = Math.max(0, delay.max / NS_PER_MS - RESOLUTION_MS);
  delay.reset();
  writeFileSync(`${path}.draft`, String(blockedMs));
  renameSync(`${path}.draft`, path);
});
