// Clock of a node under a test's control. The processes of the node read the difference from a file, so a
// test may move the clock while the node runs.

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeSettings } from './node.ts';
import { temporaryFolder } from './server-process.ts';

const MODULE = new URL('skewed-clock.mjs', import.meta.url).href;

export type NodeClock = {
  /** Settings for the node whose clock this is; its forked processes get the same clock. */
  readonly settings: NodeSettings;
  /** Sets how much the node's clock is ahead of this machine's, in milliseconds; it is so within 50 ms. */
  set(aheadMs: number): void;
};

/** Creates the clock of a node; `aheadMs` is how much it is ahead, negative when it is behind. */
export function nodeClock(aheadMs: number): NodeClock {
  const file = join(temporaryFolder('sluice-clock-'), 'skew');
  const clock: NodeClock = {
    settings: { NODE_OPTIONS: `--import=${MODULE}`, CLOCK_SKEW_FILE: file },
    set(ms) {
      writeFileSync(`${file}.new`, String(ms));
      renameSync(`${file}.new`, file);
    },
  };
  clock.set(aheadMs);
  return clock;
}
