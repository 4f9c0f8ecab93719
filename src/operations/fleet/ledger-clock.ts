// Clock of the ledger as a process of a node knows it. Times that nodes compare with each other are the
// ledger's: a node whose own clock is wrong must not make its check-ins look newer, or older, than they are.
//
// The process asks the ledger for its time now and then, and keeps the difference to its own clock. An answer
// tells the difference only as far as its round trip is short: while the kept one may be right, it stays.

import type { FleetLedger } from '../../ports/fleet-ledger.ts';

export class LedgerClock {
  private readonly ledger: Pick<FleetLedger, 'readTime'>;
  private readonly wallClock: () => number;
  private readonly stopwatch: () => number;
  private correctionMs = 0;
  private isCompared = false;

  /**
   * `wallClock` is the clock of this process in milliseconds since 1970, which may be wrong and may jump;
   * `stopwatch` returns milliseconds that never go back.
   */
  constructor(
    ledger: Pick<FleetLedger, 'readTime'>,
    wallClock: () => number = () => Date.now(),
    stopwatch: () => number = () => performance.now(),
  ) {
    this.ledger = ledger;
    this.wallClock = wallClock;
    this.stopwatch = stopwatch;
  }

  /**
   * Present time in milliseconds since 1970: the ledger's as far as it is known, else the clock of this
   * process.
   */
  now(): number {
    return this.wallClock() + this.correctionMs;
  }

  /**
   * Milliseconds by which the clock of this process is ahead of the ledger's, as far as the round trips tell;
   * negative when it is behind. Undefined before the first comparison.
   */
  get aheadMs(): number | undefined {
    return this.isCompared ? 0 - this.correctionMs : undefined;
  }

  /** Compares the two clocks. Rejects with `Unavailable` when the ledger does not answer. */
  async compare(): Promise<void> {
    const begin = this.stopwatch();
    const ledgerMs = await this.ledger.readTime();
    const roundTripMs = this.stopwatch() - begin;
    // The ledger read its clock at some moment of the round trip, which has just ended.
    const lowest = ledgerMs - this.wallClock();
    const highest = lowest + roundTripMs;
    if (this.correctionMs < lowest || this.correctionMs > highest) {
      // Whole milliseconds, as check-ins have them.
      this.correctionMs = Math.round((lowest + highest) / 2);
    }
    this.isCompared = true;
  }
}
