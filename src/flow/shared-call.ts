// A call that many callers share. Only one runs at a time, and callers that ask meanwhile share the next one,
// so that no answer is older than its question.

import { withinTime } from './within-time.ts';

export class SharedCall<Value> {
  private running: Promise<Value> | undefined;
  private next: Promise<Value> | undefined;

  /** `make` never runs twice at a time. */
  constructor(private readonly make: () => Promise<Value>) {}

  /** Returns the outcome of a call that begins now or later. */
  ask(): Promise<Value> {
    if (this.next !== undefined) return this.next;
    if (this.running === undefined) return this.run();
    const run = () => this.run();
    this.next = this.running.then(run, run);
    return this.next;
  }

  private run(): Promise<Value> {
    this.next = undefined;
    this.running = this.make().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }
}

// A call that is skipped while an earlier one is unanswered, so that calls to a hung process do not pile up.

export class SoleCall<Value> {
  private isUnanswered = false;

  constructor(private readonly make: () => Promise<Value>) {}

  /**
   * Makes a call and returns its answer; undefined if that takes longer than `waitMsMax`, or if an earlier
   * call is still unanswered.
   */
  async ask(waitMsMax: number): Promise<Value | undefined> {
    if (this.isUnanswered) return undefined;
    this.isUnanswered = true;
    const answer = this.make().finally(() => {
      this.isUnanswered = false;
    });
    return withinTime(answer, waitMsMax);
  }
}
