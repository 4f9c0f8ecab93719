// Whether this node can decide. It can when the ledger answers, and it still can without any store for the
// channels it has loaded or keeps on disk.

import type { LastGood } from '../ports/last-good.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Catalogs } from './catalogs.ts';

export class Readiness {
  private readonly ledger: Ledger;
  private readonly catalogs: Catalogs;
  private readonly lastGood: LastGood;
  private isDraining = false;

  constructor(ledger: Ledger, catalogs: Catalogs, lastGood: LastGood) {
    this.ledger = ledger;
    this.catalogs = catalogs;
    this.lastGood = lastGood;
  }

  /** From now on the node is not ready: it is about to stop. */
  drain(): void {
    this.isDraining = true;
  }

  /** Why the node cannot decide, or undefined when it can. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    const canDecide =
      this.catalogs.size > 0 || (await this.ledger.isReachable()) || (await this.lastGood.hasAny());
    return canDecide ? undefined : 'the ledger cannot be reached and nothing is known without it';
  }
}
