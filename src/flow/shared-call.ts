// A call that many callers share, one at a time. Callers that ask during a call share the next one, so that
// no answer is older than its question.

export class SharedCall<Value> {
  private readonly make: () => Promise<Value>;
  private running: Promise<Value> | undefined;
  private next: Promise<Value> | undefined;

  /** `make` never runs twice at a time. */
  constructor(make: () => Promise<Value>) {
    this.make = make;
  }

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
