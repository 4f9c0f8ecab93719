// What is going through this node: requests that wait for something, so that a stop can wait for them, and
// a count of answers by status.

import type { Log } from '../observe/log.ts';
import type { Tally } from '../observe/metrics.ts';

/** The status that stands for "the client left before the answer". */
const CLIENT_GONE = 499;
const LOOK_INTERVAL_MS = 20;

export class Traffic {
  readonly log: Log;
  private readonly requests: Tally;
  private inFlight = 0;

  constructor(log: Log, requests: Tally) {
    this.log = log;
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

  /** Resolves when nothing is in flight, or after `waitMsMax`; true when nothing is. */
  async settled(waitMsMax: number): Promise<boolean> {
    const deadline = Date.now() + waitMsMax;
    while (this.inFlight > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
    }
    return this.inFlight === 0;
  }
}
