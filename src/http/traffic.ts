// What is going through this node: requests that wait for something, so that a stop can wait for them, and
// a count of answers by status.

import type { Log } from '../observe/log.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Tally } from '../observe/tally.ts';

/** The status that stands for "the client left before the answer". */
const CLIENT_GONE = 499;
const LOOK_INTERVAL_MS = 20;
/** A busy client, told that an answer is its connection's last, has not asked again for this long. */
const QUIET_MS = 250;

export class Traffic {
  readonly log: Log;
  /** For what a store that is away makes of every request. */
  readonly rareLog: RareLog;
  private readonly requests: Tally;
  private inFlight = 0;
  private isDraining = false;
  private lastAnswerAt = 0;

  constructor(log: Log, requests: Tally) {
    this.log = log;
    this.rareLog = new RareLog(log);
    this.requests = requests;
  }

  /** A request begins that is not answered at once; `end` must follow. */
  begin(): void {
    this.inFlight += 1;
  }

  /** Such a request is over; undefined when the client had left. */
  end(status: number | undefined): void {
    this.inFlight -= 1;
    this.count(status ?? CLIENT_GONE);
  }

  /** A request was answered at once. */
  count(status: number): void {
    this.requests.add(String(status));
  }

  /** Whether the answer that is about to be written is its connection's last. */
  endsConnection(): boolean {
    if (!this.isDraining) return false;
    this.lastAnswerAt = performance.now();
    return true;
  }

  /**
   * Ends each connection with its next answer: a client that keeps its connection busy always has a request
   * under way, which closing the connection at any other moment would lose. Resolves when nothing is in
   * flight and nobody has asked for a while, or after `waitMsMax`; true when nothing is in flight.
   */
  async drain(waitMsMax: number): Promise<boolean> {
    this.isDraining = true;
    this.lastAnswerAt = performance.now();
    const deadline = performance.now() + waitMsMax;
    const isBusy = () => this.inFlight > 0 || performance.now() - this.lastAnswerAt < QUIET_MS;
    while (isBusy() && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
    }
    return this.inFlight === 0;
  }
}
