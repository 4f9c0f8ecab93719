// Engines that the contract suite is run on.

import type { Engine } from '../../src/ports/engine.ts';

export type EnginesUnderTest = {
  readonly engine: Engine;
  /** Another node of the same engine. */
  readonly second: Engine;
  dispose(): Promise<void>;
};
