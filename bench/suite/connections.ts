// Compares checks that have a connection each, as devices have that ask every few minutes, with a bare server
// that is asked in the same way: what is left of the difference between the two when most of the work is the
// system's.

import { OWN_CONNECTION } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';
import { check } from './check.ts';

export const connections: Benchmark = {
  name: 'connections',
  title: 'update checks with a connection each, beside the bare uWebSockets.js floor',
  explanation: check.explanation,
  run: (options) => check.run({ ...options, scenario: OWN_CONNECTION }),
};
