// Every benchmark, in the order in which `npm run bench` runs them.

import type { Benchmark } from './benchmark.ts';
import { catalog } from './catalog.ts';
import { check } from './check.ts';
import { connections } from './connections.ts';
import { consoleData } from './console.ts';
import { drain } from './drain.ts';
import { fleet } from './fleet.ts';
import { limiter } from './limiter.ts';
import { liveFeed } from './live-feed.ts';
import { peers } from './peers.ts';
import { propagation } from './propagation.ts';
import { rollouts } from './rollouts.ts';
import { scale } from './scale.ts';
import { wal } from './wal.ts';
import { wave } from './wave.ts';

export const BENCHMARKS: readonly Benchmark[] = [
  check,
  connections,
  peers,
  limiter,
  catalog,
  fleet,
  propagation,
  scale,
  drain,
  wal,
  wave,
  consoleData,
  liveFeed,
  rollouts,
];
