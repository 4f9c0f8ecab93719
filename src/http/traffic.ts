// Traffic of this process: the number of requests in flight, so that a stop can wait for them, and the number
// of replies by status.

import type { LabelledCount } from '../observe/labelled-count.ts';
import type { Log } from '../observe/log.ts';
import { RareLog } from '../observe/rare-log.ts';

/** Status under which requests are counted whose client left before the reply. */
const CLIENT_GONE = 499;
const LOOK_INTERVAL_MS = 20;
/**
 * Time without a reply after which a stop takes the connections as ended: busy clients, told that a reply is
 * their connection's last, have sent no other request on it for this long.
 */
const QUIET_MS = 250;

export class Traffic {
  readonly log: Log;
  /** Log of outages of a store, which would otherwise write a line for every request. */
  readonly rareLog: RareLog;
  private readonly requests: LabelledCount;
  private inFlight = 0;
  private isDraining = false;
  private lastAnswerAt = 0;

  constructor(log: Log, requests: LabelledCount) {
    this.log = log;
    this.rareLog = new RareLog(log);
    this.requests = requests;
  }

  /** Notes that a request has begun that is not answered at once; `end` must follow. */
  begin(): void {
    this.inFlight += 1;
  }

  /** Notes that a request is over for which `begin` was called; undefined when the client had left. */
  end(status: number | undefined): void {
    this.inFlight -= 1;
    this.count(status ?? CLIENT_GONE);
  }

  /** Counts a request that was answered at once. */
  count(status: number): void {
    this.requests.add(String(status));
  }

  /**
   * Ends each connection with its next reply from now on: a client that keeps its connection busy always has
   * a request under way, which closing the connection at any other moment would lose.
   */
  endConnections(): void {
    this.isDraining = true;
  }

  /** Returns whether the reply that is about to be written is its connection's last. */
  endsConnection(): boolean {
    if (!this.isDraining) return false;
    this.lastAnswerAt = performance.now();
    return true;
  }

  /**
   * Ends each connection with its next reply. Resolves when nothing is in flight and no last reply was
   * written for `QUIET_MS`, or after `waitMsMax`; with true when nothing is in flight.
   */
  async drain(waitMsMax: number): Promise<boolean> {
    this.endConnections();
    this.lastAnswerAt = performance.now();
    const deadline = performance.now() + waitMsMax;
    const isBusy = () => this.inFlight > 0 || performance.now() - this.lastAnswerAt < QUIET_MS;
    while (isBusy() && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
    }
    return this.inFlight === 0;
  }
}
