// Combines single requests into batches: requests of the same turn of the event loop share a round trip.
// While the maximum number of batches is in flight, further requests wait for the next one, so slow answers
// cause larger batches, and a busy store gets fewer requests instead of more.

import { Overloaded } from '../contract/store-fault.ts';

/** Caller that waits for an answer. Exactly one of the two is called, once; neither may throw. */
export type Asker<Answer> = {
  answered(answer: Answer): void;
  failed(error: unknown): void;
};

export type BatcherOptions<Item, Answer> = {
  /** Answers the items of a batch, in order; a rejection rejects all of them. */
  readonly ask: (items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly batchSizeMax: number;
  /** Maximum number of batches in flight. */
  readonly batchesMax: number;
  /** Maximum number of waiting and in-flight items; more are refused at once. */
  readonly pendingMax: number;
};

export class Batcher<Item, Answer> {
  /** Items that wait for a batch, and the asker of each at the same index. */
  private items: Item[] = [];
  private askers: Asker<Answer>[] = [];
  private pending = 0;
  private inFlight = 0;
  private isScheduled = false;
  private readonly send = () => this.sendWaiting();

  constructor(private readonly options: BatcherOptions<Item, Answer>) {}

  /** Returns the answer to an item; rejects with `Overloaded` if too many are pending. */
  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.tell(item, { answered: resolve, failed: reject })) return;
      reject(new Overloaded(`${this.pending} calls wait for a batch`));
    });
  }

  /**
   * Asks for an item without a promise, which would cost several times what the batch does for the item: the
   * asker is called in the turn of the answer. Returns false, and never calls it, if too many are pending.
   */
  tell(item: Item, asker: Asker<Answer>): boolean {
    if (this.pending >= this.options.pendingMax) return false;
    this.pending += 1;
    this.items.push(item);
    this.askers.push(asker);
    this.schedule();
    return true;
  }

  private schedule(): void {
    if (this.isScheduled || this.inFlight >= this.options.batchesMax) return;
    this.isScheduled = true;
    setImmediate(this.send);
  }

  private sendWaiting(): void {
    const { batchSizeMax, batchesMax } = this.options;
    this.isScheduled = false;
    while (this.items.length > 0 && this.inFlight < batchesMax) {
      void this.sendBatch(this.items.splice(0, batchSizeMax), this.askers.splice(0, batchSizeMax));
    }
  }

  private async sendBatch(items: readonly Item[], askers: readonly Asker<Answer>[]): Promise<void> {
    this.inFlight += 1;
    let answers: readonly Answer[] | undefined;
    let fault: unknown;
    try {
      answers = await this.options.ask(items);
    } catch (error) {
      fault = error;
    }
    this.pending -= items.length;
    this.inFlight -= 1;
    if (this.items.length > 0) this.schedule();
    for (const [index, asker] of askers.entries()) {
      if (answers === undefined) asker.failed(fault);
      else asker.answered(answers[index] as Answer);
    }
  }
}
