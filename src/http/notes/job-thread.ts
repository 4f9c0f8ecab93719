// Thread that does one job after the other beside the serving thread, for work that may take long. A job that
// takes too long is given up and the thread is ended with it, because nothing else stops code that does not
// pause. The next job starts another thread.

import { Worker } from 'node:worker_threads';
import { Unavailable } from '../../contract/unavailable.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';

export type JobThreadOptions = {
  /** Module that the thread runs: it says `ready` once, then answers each message with one. */
  readonly program: URL;
  /** Maximum number of jobs that wait for their turn. */
  readonly waitingMax: number;
  /** Maximum size of the thread's heap in MiB; a job that needs more is given up. */
  readonly heapMibMax: number;
};

/** Outcome of a job that was given up. */
export const GIVEN_UP = Symbol('given up');

type Given = typeof GIVEN_UP;

/** Time in which a thread must be ready, also on a busy machine: it loads its modules first. */
const START_MS_MAX = 10_000;

/** `Answer` is what the program answers to a `Job`; both must be values that can be copied. */
export class JobThread<Job, Answer> {
  private readonly options: JobThreadOptions;
  private readonly turns: ConcurrencyLimit;
  private worker: Worker | undefined;
  private isStopped = false;

  constructor(options: JobThreadOptions) {
    this.options = options;
    this.turns = new ConcurrencyLimit(1, options.waitingMax);
  }

  /**
   * Returns the answer to a job, or `GIVEN_UP` when it takes longer than `msMax` or too much memory. `moved`
   * is memory that goes to the thread instead of being copied. Rejects with `Unavailable` when too many jobs
   * wait or no thread can be started, and with the error of a program that failed.
   */
  ask(job: Job, msMax: number, moved: readonly ArrayBuffer[] = []): Promise<Answer | Given> {
    return this.turns.pass(async () => {
      const worker = await this.start();
      try {
        return await answerOf<Answer>(worker, () => worker.postMessage(job, moved), msMax);
      } catch (error) {
        await this.end();
        if (error === GIVEN_UP || isOutOfMemory(error)) return GIVEN_UP;
        throw error;
      }
    });
  }

  /** Ends the thread. A job in hand is given up, and later ones are rejected with `Unavailable`. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.end();
  }

  private async start(): Promise<Worker> {
    if (this.worker !== undefined) return this.worker;
    if (this.isStopped) throw new Unavailable('engine', 'the thread was stopped');
    const { program, heapMibMax } = this.options;
    const worker = new Worker(program, {
      // The thread gets none of the service's settings, secrets among them.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMibMax },
    });
    // It must not keep the process alive, and an error without a listener would end it.
    worker.unref();
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = undefined;
    });
    this.worker = worker;
    try {
      await answerOf(worker, () => undefined, START_MS_MAX);
    } catch (error) {
      await this.end();
      throw new Unavailable('engine', error === GIVEN_UP ? 'no thread within 10 s' : error);
    }
    return worker;
  }

  private async end(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
  }
}

/**
 * Returns the next message of a thread after `begin`. Rejects with `GIVEN_UP` when there is none within
 * `msMax`, or the thread is ended first; with its error when it fails.
 */
function answerOf<Answer>(worker: Worker, begin: () => void, msMax: number): Promise<Answer> {
  return new Promise<Answer>((resolve, reject) => {
    const fail = (error: unknown) => {
      clearTimeout(timer);
      worker.off('message', succeed).off('error', fail).off('exit', give);
      reject(error);
    };
    const give = () => fail(GIVEN_UP);
    const succeed = (answer: Answer) => {
      clearTimeout(timer);
      worker.off('message', succeed).off('error', fail).off('exit', give);
      resolve(answer);
    };
    const timer = setTimeout(give, msMax);
    worker.on('message', succeed).on('error', fail).on('exit', give);
    begin();
  });
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
