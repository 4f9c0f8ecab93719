// A call that is skipped while an earlier one is unanswered, so that calls to a hung process do not pile up.

import { withinTime } from './within-time.ts';

export class SoleCall<Value> {
  private readonly make: () => Promise<Value>;
  private isUnanswered = false;

  constructor(make: () => Promise<Value>) {
    this.make = make;
  }

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
