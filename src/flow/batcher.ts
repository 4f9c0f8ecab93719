// Combines single requests into batches: requests of the same turn of the event loop share a round trip.
// While the maximum number of batches is in flight, further requests wait for the next one, so slow answers
// cause larger batches, and a busy store gets fewer requests instead of more.

import { Overloaded } from '../contract/unavailable.ts';

type Waiting<Item, Answer> = {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
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
  private readonly options: BatcherOptions<Item, Answer>;
  private waiting: Waiting<Item, Answer>[] = [];
  private pending = 0;
  private inFlight = 0;
  private isScheduled = false;

  constructor(options: BatcherOptions<Item, Answer>) {
    this.options = options;
  }

  /** Returns the answer to an item; rejects with `Overloaded` if too many are pending. */
  ask(item: Item): Promise<Answer> {
    if (this.pending >= this.options.pendingMax) {
      return Promise.reject(new Overloaded(`${this.pending} calls wait for a batch`));
    }
    this.pending += 1;
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.inFlight >= this.options.batchesMax) return;
    this.isScheduled = true;
    setImmediate(() => this.send());
  }

  private send(): void {
    const { batchSizeMax, batchesMax } = this.options;
    this.isScheduled = false;
    while (this.waiting.length > 0 && this.inFlight < batchesMax) {
      void this.sendBatch(this.waiting.splice(0, batchSizeMax));
    }
  }

  private async sendBatch(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    this.inFlight += 1;
    try {
      const answers = await this.options.ask(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.pending -= batch.length;
      this.inFlight -= 1;
      if (this.waiting.length > 0) this.schedule();
    }
  }
}
