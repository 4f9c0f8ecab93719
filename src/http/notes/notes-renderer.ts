// Rendering of release notes and writing of feeds beside the serving thread, with a time limit: notes come
// from strangers, and some take hundreds of milliseconds. Notes that take too long are shown as they were
// written.

import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { Release } from '../../contract/resource.ts';
import { Overloaded } from '../../contract/store-fault.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { Appcast } from '../../updater/sparkle.ts';
import type { TaggedBody } from '../transport/reply.ts';
import type { FeedHead, FeedName } from './feed-formats.ts';
import type {
  AppcastJob,
  HtmlJob,
  ItemJob,
  NotesAnswer,
  NotesJob,
  WrittenFeed,
} from './notes-job.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Time for rendering one text: five times what the worst known one takes on a slow machine. */
const RENDER_MS_MAX = 2000;
/** Time for what needs no rendering: copying and escaping, on a machine however busy. */
const WRITE_MS_MAX = 10_000;
/** Maximum number of jobs that wait: of pages of the console, and one of a feed. */
const WAITING_MAX = 1000;
const HEAP_MIB_MAX = 192;
/** Texts that took too long are remembered, so that each costs its time once and not with every request. */
const SLOW_TEXTS_MAX = 1000;
const SLOW_TEXTS_TTL_MS = 3_600_000;

export class NotesRenderer {
  /** Digests of the texts that took too long. */
  private readonly slow = new LRUCache<string, true>({
    max: SLOW_TEXTS_MAX,
    ttl: SLOW_TEXTS_TTL_MS,
  });

  constructor(
    private readonly thread: Pick<JobThread<NotesJob, NotesAnswer>, 'ask' | 'stop'> = notesThread(),
  ) {}

  /** Renders notes to harmless HTML. Rejects with `Unavailable` when too many wait for it. */
  async html(notes: string): Promise<string> {
    return (await this.render({ kind: 'html', notes, isPlain: false }, notes)) as string;
  }

  /** Writes one release of a feed. Rejects with `Unavailable` when too many wait for it. */
  async item(format: FeedName, feed: FeedHead, release: Release): Promise<Bytes> {
    const job: ItemJob = { kind: 'item', format, feed, release, isPlain: false };
    return (await this.render(job, release.notes)) as Bytes;
  }

  /** Writes an appcast that offers a release. Rejects with `Unavailable` when too many wait for it. */
  async appcast(appcast: Appcast, address: string): Promise<Buffer> {
    const job: AppcastJob = { kind: 'appcast', appcast, address, isPlain: false };
    const bytes = (await this.render(job, appcast.item?.release.notes ?? '')) as Bytes;
    return Buffer.from(bytes.buffer);
  }

  /** Joins the releases of a feed, whose bytes are gone afterwards. */
  async feed(format: FeedName, feed: FeedHead, items: readonly Bytes[]): Promise<TaggedBody> {
    const moved = items.map(({ buffer }) => buffer);
    const answer = await this.thread.ask(
      { kind: 'feed', format, feed, items },
      WRITE_MS_MAX,
      moved,
    );
    if (answer === GIVEN_UP) throw new Overloaded('a feed took too long');
    const { bytes, etag } = answer as WrittenFeed;
    return { bytes: Buffer.from(bytes.buffer), etag };
  }

  /** Ends the thread. */
  stop(): Promise<void> {
    return this.thread.stop();
  }

  private async render(job: HtmlJob | ItemJob | AppcastJob, notes: string): Promise<NotesAnswer> {
    if (!this.isSlow(notes)) {
      const answer = await this.thread.ask(job, RENDER_MS_MAX);
      if (answer !== GIVEN_UP) return answer;
      this.slow.set(digestOf(notes), true);
    }
    const answer = await this.thread.ask({ ...job, isPlain: true }, WRITE_MS_MAX);
    if (answer === GIVEN_UP) throw new Overloaded('notes took too long');
    return answer;
  }

  private isSlow(notes: string): boolean {
    // Mostly no text is slow: then none has to be hashed.
    return this.slow.size > 0 && this.slow.has(digestOf(notes));
  }
}

/** Builds the thread, which starts with the first job. */
function notesThread(): JobThread<NotesJob, NotesAnswer> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const program = new URL(`./notes-thread.${extension}`, import.meta.url);
  return new JobThread({ program, waitingMax: WAITING_MAX, heapMibMax: HEAP_MIB_MAX });
}

function digestOf(notes: string): string {
  return createHash('sha256').update(notes).digest('base64');
}

// Thread that does one job after the other beside the serving thread, for work that may take long. A job that
// takes too long is given up and the thread is ended with it, because nothing else stops code that does not
// pause. The next job starts another thread.

type JobThreadOptions = {
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

/**
 * Flag of V8 for the threads that start from now on; the heap of the thread that sets it is laid out already.
 * A thread whose heap is full may grow by 16 MB more until Node.js has ended it; beyond that V8 ends the
 * process. One collection moves as much as the young heap holds: with the 32 MB of `npm start` too much.
 */
const YOUNG_HEAP = '--max-semi-space-size=8';

/** `Answer` is what the program answers to a `Job`; both must be values that can be copied. */
export class JobThread<Job, Answer> {
  private readonly turns: ConcurrencyLimit;
  private worker: Worker | undefined;
  private isStopped = false;

  constructor(private readonly options: JobThreadOptions) {
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
    if (this.isStopped) throw new Overloaded('the thread was stopped');
    const { program, heapMibMax } = this.options;
    setFlagsFromString(YOUNG_HEAP);
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
      throw new Overloaded(error === GIVEN_UP ? 'no thread within 10 s' : 'the thread has ended');
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
