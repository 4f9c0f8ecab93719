// Child process that its parent keeps running.
//
//   starting ──ready──▶ working ──ends by itself──▶ waiting (100 ms, doubling to 5 s) ──▶ starting …
//       └── stop: told to end, killed when it does not; never started again ──▶ over
//
// The child ends by itself whenever its parent is gone, because its end of the channel closes then.

import { type BackOff, backOffMs } from '../flow/back-off.ts';
import { pause } from '../flow/pause.ts';
import type { Calls } from './calls.ts';
import { type ChildProgram, ForkedChild } from './forked-child.ts';

const BACK_OFF: BackOff = { minMs: 100, maxMs: 5000 };
/** Time of work after which the end of a child counts as a first failure: such a child was able to work. */
const SOUND_LIFE_MS = 30_000;

/** End of a child that was not told to end. */
export type ChildEnd = {
  /** Signal or exit code, as text. */
  readonly how: string;
  /** Reason why the child did not become ready; undefined when it did. */
  readonly startError: Error | undefined;
  readonly restartInMs: number;
};

export type ChildServiceOptions<Down extends Calls, Up extends Calls> = {
  /** Name of the child in messages, such as `worker 2`. */
  readonly name: string;
  readonly program: ChildProgram;
  /** Time after which a child that is not ready is killed; without it, a start may take any time. */
  readonly startMsMax?: number;
  /** Time for which a stop lets the child finish what it has in flight before it is killed. */
  readonly stopMsMax: number;
  /** Answers the child's calls. */
  readonly answer: (call: Up['call']) => Promise<Up['answer']>;
  /** Called with each child that becomes ready. */
  readonly onReady?: (child: ForkedChild<Down, Up>) => void;
  readonly onEnd: (end: ChildEnd) => void;
};

/** Service of a child process. `Down` are the calls to the child, `Up` those that it makes. */
export class ChildService<Down extends Calls, Up extends Calls> {
  private readonly options: ChildServiceOptions<Down, Up>;
  private readonly stopping = new AbortController();
  private current: ForkedChild<Down, Up> | undefined;
  private keeping: Promise<void> = Promise.resolve();

  constructor(options: ChildServiceOptions<Down, Up>) {
    this.options = options;
  }

  /**
   * Present child, which may still be starting; undefined between the end of one child and the start of the
   * next.
   */
  get child(): ForkedChild<Down, Up> | undefined {
    return this.current;
  }

  /**
   * Starts the child, and starts it again whenever it ends, until `stop`. Resolves when it is ready for the
   * first time, or when it was stopped before that; rejects, with the reason in one line, when the first
   * child ends by itself before it is ready.
   */
  async start(): Promise<void> {
    const child = this.launch();
    this.keeping = this.keep(child);
    try {
      await child.ready;
    } catch (error) {
      // A child that is told to stop while it starts ends without being ready, and did nothing wrong.
      if (!this.stopping.signal.aborted) throw error;
    }
  }

  /** Keeps the child from being started again after its end. */
  startNoMore(): void {
    this.stopping.abort();
  }

  /** Lets the child finish and waits for its end; false when it had to be killed. */
  async stop(): Promise<boolean> {
    this.startNoMore();
    const isInTime = await this.current?.stop(this.options.stopMsMax);
    await this.keeping;
    return isInTime ?? true;
  }

  private launch(): ForkedChild<Down, Up> {
    const { name, program, answer } = this.options;
    this.current = new ForkedChild(name, program, answer);
    return this.current;
  }

  private async keep(first: ForkedChild<Down, Up>): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    for (let child = first; ; child = this.launch()) {
      const { how, startError, workedMs } = await this.awaitEnd(child);
      if (signal.aborted) return;
      failures = workedMs >= SOUND_LIFE_MS ? 1 : failures + 1;
      const restartInMs = backOffMs(BACK_OFF, failures);
      this.options.onEnd({ how, startError, restartInMs });
      await pause(restartInMs, signal);
      if (signal.aborted) return;
    }
  }

  /** Waits for the end of a child, and kills it when its start takes too long. */
  private async awaitEnd(child: ForkedChild<Down, Up>) {
    const { startMsMax, onReady } = this.options;
    const tooLate =
      startMsMax === undefined ? undefined : setTimeout(() => child.kill(), startMsMax);
    let readyAt = Number.POSITIVE_INFINITY;
    let startError: Error | undefined;
    const starting = child.ready.then(
      () => {
        clearTimeout(tooLate);
        readyAt = performance.now();
        onReady?.(child);
      },
      (error: Error) => {
        startError = error;
      },
    );
    const how = await child.ended;
    this.current = undefined;
    clearTimeout(tooLate);
    await starting;
    return { how, startError, workedMs: performance.now() - readyAt };
  }
}
