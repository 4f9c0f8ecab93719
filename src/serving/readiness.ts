// Readiness of this node: it has loaded what it served last, and can decide when the ledger answers, and
// without any store for the channels that it has loaded or keeps on disk.

import type { Engine } from '../store/engine.ts';
import type { LastGood } from '../store/last-good.ts';
import type { ServingLedger } from '../store/serving-ledger.ts';
import type { Catalogs } from './catalogs.ts';
import type { WarmUp } from './warm-up.ts';

export class Readiness {
  private readonly ledger: ServingLedger;
  private readonly ledgerName: 'ledger' | 'upstream';
  private readonly engine: Engine;
  private readonly isEngineShared: boolean;
  private readonly catalogs: Catalogs;
  private readonly lastGood: LastGood;
  private readonly warmUp: Pick<WarmUp, 'isOver'>;
  private isDraining = false;

  /**
   * `ledgerName` is what an operator knows the ledger by. `isEngineShared` says that other nodes may have
   * stored snapshots in the engine that this node needs.
   */
  constructor(
    ledger: ServingLedger,
    ledgerName: 'ledger' | 'upstream',
    engine: Engine,
    isEngineShared: boolean,
    catalogs: Catalogs,
    lastGood: LastGood,
    warmUp: Pick<WarmUp, 'isOver'>,
  ) {
    this.ledger = ledger;
    this.ledgerName = ledgerName;
    this.engine = engine;
    this.isEngineShared = isEngineShared;
    this.catalogs = catalogs;
    this.lastGood = lastGood;
    this.warmUp = warmUp;
  }

  /** Makes the node permanently not ready, because it is about to stop. */
  drain(): void {
    this.isDraining = true;
  }

  /** Returns why the node cannot decide, or undefined when it can. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    if (!this.warmUp.isOver)
      return 'the channels that this node served last are still being loaded';
    const canDecide =
      this.catalogs.size > 0 ||
      (await this.ledger.isReachable()) ||
      (await this.lastGood.hasAny()) ||
      (this.isEngineShared && (await this.engine.isReachable()));
    if (canDecide) return undefined;
    return `the ${this.ledgerName} cannot be reached and nothing is known without it`;
  }
}
