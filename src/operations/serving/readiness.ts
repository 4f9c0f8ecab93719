// Readiness of this node: it can decide when the ledger answers, and without any store for the channels that
// it has loaded or keeps on disk.

import type { Engine } from '../../ports/engine.ts';
import type { LastGood } from '../../ports/last-good.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { Catalogs } from './catalogs.ts';

export class Readiness {
  private readonly ledger: Ledger;
  private readonly engine: Engine;
  private readonly isEngineShared: boolean;
  private readonly catalogs: Catalogs;
  private readonly lastGood: LastGood;
  private isDraining = false;

  /** `isEngineShared` says that other nodes may have stored snapshots in the engine that this node needs. */
  constructor(
    ledger: Ledger,
    engine: Engine,
    isEngineShared: boolean,
    catalogs: Catalogs,
    lastGood: LastGood,
  ) {
    this.ledger = ledger;
    this.engine = engine;
    this.isEngineShared = isEngineShared;
    this.catalogs = catalogs;
    this.lastGood = lastGood;
  }

  /** Makes the node permanently not ready, because it is about to stop. */
  drain(): void {
    this.isDraining = true;
  }

  /** Returns why the node cannot decide, or undefined when it can. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    const canDecide =
      this.catalogs.size > 0 ||
      (await this.ledger.isReachable()) ||
      (await this.lastGood.hasAny()) ||
      (this.isEngineShared && (await this.engine.isReachable()));
    return canDecide ? undefined : 'the ledger cannot be reached and nothing is known without it';
  }
}
