// One call at a time for many who ask: whoever asks while one runs shares the next one with all others who
// do, so that nobody is told what was true before he asked.

export class SharedCall<Value> {
  private readonly make: () => Promise<Value>;
  private running: Promise<Value> | undefined;
  private next: Promise<Value> | undefined;

  /** `make` never runs twice at a time. */
  constructor(make: () => Promise<Value>) {
    this.make = make;
  }

  /** The outcome of a call that begins now or later. */
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
