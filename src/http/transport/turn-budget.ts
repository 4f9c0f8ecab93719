// Bounds on answers that their clients do not read. uWebSockets.js answers all requests that one read of a
// connection brought, up to some thousands, before another connection has its turn, and keeps what a client
// does not take, without a bound. So answers are counted with their sizes, and some are looked at: a
// connection with unsent bytes is closed then. Past a number of looks in one turn of the event loop, answers
// that are looked at are written when the turn is over; uWebSockets.js closes a connection on which another
// request arrives meanwhile. Clients and proxies that wait for an answer before they ask again notice nothing
// of it.

/** More than the head of an answer to a device has. */
const HEAD_BYTES = 512;
/** Looks in one turn, after which answers wait: some hundreds of small answers, 5 to 10 ms. */
const LOOKS_PER_TURN = 16;

export class TurnBudget {
  private left = 0;
  private looks = 0;

  /** `afterTurn` calls a listener when the turn of the event loop is over. */
  constructor(
    private readonly random: () => number = Math.random,
    private readonly afterTurn: (listener: () => void) => void = setImmediate,
  ) {}

  /** Whether there may have been answers in this turn that uWebSockets.js could not gather any more. */
  get isExceeded(): boolean {
    return this.looks > 0;
  }

  /** Whether an answer that is looked at waits until the turn is over. */
  get isTurnUsedUp(): boolean {
    return this.looks > LOOKS_PER_TURN;
  }

  /**
   * Takes an answer with a body of so many bytes. Returns whether it is looked at: one in 8 to 16 KiB of
   * answers is, at random, so that no client can tell which.
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

/** Bytes that uWebSockets.js gathers before it writes to a socket. */
export const GATHERED_BYTES = 16 * 1024;
