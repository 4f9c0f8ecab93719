// Clock of the ledger as a process of a node knows it. Times that nodes compare with each other are the
// ledger's: a node whose own clock is wrong must not make its check-ins look newer, or older, than they are.
//
// The process asks the ledger for its time now and then, and counts on from there by its stopwatch, which no
// change of the machine's clock moves. An answer tells the time only as far as its round trip is short: while
// the time that was counted may be right, it stays.

import type { FleetLedger } from '../store/fleet-ledger.ts';

export class LedgerClock {
  private readonly ledger: Pick<FleetLedger, 'readTime'>;
  private readonly wallClock: () => number;
  private readonly stopwatch: () => number;
  /** Time of the ledger, in milliseconds since 1970, at which the stopwatch showed 0. */
  private startMs: number;
  private isCompared = false;

  /**
   * `wallClock` is the clock of the machine in milliseconds since 1970, which may be wrong and may jump;
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
    this.startMs = wallClock() - stopwatch();
  }

  /**
   * Present time in milliseconds since 1970, with a fraction: the ledger's, or before the first comparison
   * that of the machine.
   */
  now(): number {
    return this.startMs + this.stopwatch();
  }

  /**
   * Milliseconds by which the clock of the machine is ahead of the ledger's, as far as round trips tell;
   * negative when it is behind. Undefined before the first comparison.
   */
  get aheadMs(): number | undefined {
    return this.isCompared ? this.wallClock() - this.now() : undefined;
  }

  /** Asks the ledger for its time. Rejects with `Unavailable` when it does not answer. */
  async compare(): Promise<void> {
    const begin = this.stopwatch();
    const ledgerMs = await this.ledger.readTime();
    const end = this.stopwatch();
    // The ledger read its clock at some moment of the round trip.
    const [lowest, highest] = [ledgerMs - end, ledgerMs - begin];
    if (this.startMs < lowest || this.startMs > highest) this.startMs = (lowest + highest) / 2;
    this.isCompared = true;
  }
}
