// Bounds the answers that clients do not read. uWebSockets.js answers all requests that one read of a
// connection returned, up to some thousands, before it serves another connection, and buffers bytes that a
// client does not read, without a bound. So the budget adds up the sizes of answers and selects some for a
// look: if the connection of such an answer has unsent bytes, it is closed. After a number of looks in one
// turn of the event loop, the selected answers are written after the turn; if another request arrives on
// their connection before, uWebSockets.js closes it. Clients and proxies that wait for an answer before their
// next request notice nothing.

/** Size that is counted for a head: more than that of an answer to a device. */
const HEAD_BYTES = 512;
/** Number of looks in one turn after which answers wait: some hundreds of small answers, 5 to 10 ms. */
const LOOKS_PER_TURN = 16;

export class TurnBudget {
  private left = 0;
  private looks = 0;

  /** `afterTurn` calls a listener after the current turn of the event loop. */
  constructor(
    private readonly random: () => number = Math.random,
    private readonly afterTurn: (listener: () => void) => void = setImmediate,
  ) {}

  /** Whether this turn may have written more answers than uWebSockets.js can gather in its buffer. */
  get isExceeded(): boolean {
    return this.looks > 0;
  }

  /** Whether an answer that is looked at must wait until the turn is over. */
  get isTurnUsedUp(): boolean {
    return this.looks > LOOKS_PER_TURN;
  }

  /**
   * Counts an answer with a body of `bodyBytes`. Returns whether it is looked at: one answer in every 8 to 16
   * KiB is, at random, so that no client can predict which.
   */
  isLookedAt(bodyBytes: number): boolean {
    this.left -= HEAD_BYTES + bodyBytes;
    if (this.left > 0) return false;
    this.left = (GATHERED_BYTES * (1 + this.random())) / 2;
    this.looks += 1;
    if (this.looks === 1) {
      this.afterTurn(() => {
        this.looks = 0;
      });
    }
    return true;
  }
}

/** Number of bytes that uWebSockets.js gathers before it writes them to a socket. */
export const GATHERED_BYTES = 16 * 1024;
