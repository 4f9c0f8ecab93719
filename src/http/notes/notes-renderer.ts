// Renders release notes and writes feeds in a thread of its own, with a time limit, because notes come from
// strangers, and some take hundreds of milliseconds. Notes that take too long are shown as plain text.

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

/** Maximum milliseconds for rendering one text: five times those of the worst known one on a slow machine. */
const RENDER_MS_MAX = 2000;
/** Maximum milliseconds for jobs without rendering, which only copy and escape, even on a busy machine. */
const WRITE_MS_MAX = 10_000;
/** Maximum number of waiting jobs: those of pages of the console, and one of a feed. */
const WAITING_MAX = 1000;
const HEAP_MIB_MAX = 192;
/** Maximum number of remembered texts that took too long, so that each costs its time only once. */
const SLOW_TEXTS_MAX = 1000;
const SLOW_TEXTS_TTL_MS = 3_600_000;

export class NotesRenderer {
  /** Digests of texts that took too long. */
  private readonly slow = new LRUCache<string, true>({
    max: SLOW_TEXTS_MAX,
    ttl: SLOW_TEXTS_TTL_MS,
  });

  constructor(
    private readonly thread: Pick<JobThread<NotesJob, NotesAnswer>, 'ask' | 'stop'> = notesThread(),
  ) {}

  /** Renders notes to sanitised HTML. Rejects with `Unavailable` if too many jobs wait. */
  async html(notes: string): Promise<string> {
    return (await this.render({ kind: 'html', notes, isPlain: false }, notes)) as string;
  }

  /** Writes one release of a feed. Rejects with `Unavailable` if too many jobs wait. */
  async item(format: FeedName, feed: FeedHead, release: Release): Promise<Bytes> {
    const job: ItemJob = { kind: 'item', format, feed, release, isPlain: false };
    return (await this.render(job, release.notes)) as Bytes;
  }

  /** Writes an appcast that offers a release. Rejects with `Unavailable` if too many jobs wait. */
  async appcast(appcast: Appcast, address: string): Promise<Buffer> {
    const job: AppcastJob = { kind: 'appcast', appcast, address, isPlain: false };
    const bytes = (await this.render(job, appcast.item?.release.notes ?? '')) as Bytes;
    return Buffer.from(bytes.buffer);
  }

  /** Joins the releases of a feed. Transfers `items` to the thread: the caller cannot use them afterwards. */
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

  /** Terminates the thread. */
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
    // Usually no text is slow: then no text has to be hashed.
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

// Thread that does one job after the other, for work that may take too long for the serving thread. If a job
// exceeds its time, the thread is terminated, because nothing else stops code that does not yield. The next
// job starts another thread.

type JobThreadOptions = {
  /** Module that the thread runs: it posts `ready` once, then answers each message with one message. */
  readonly program: URL;
  /** Maximum number of waiting jobs. */
  readonly waitingMax: number;
  /** Maximum size of the thread's heap in MiB; a job that needs more is given up. */
  readonly heapMibMax: number;
};

/** Outcome of a job that was given up. */
export const GIVEN_UP = Symbol('given up');

type Given = typeof GIVEN_UP;

/** Maximum milliseconds until a thread is ready, even on a busy machine: it loads its modules first. */
const START_MS_MAX = 10_000;

/**
 * V8 flag for threads that start after it is set; it does not change the present thread's heap. A thread
 * whose heap is full may grow by 16 MB more until Node.js has terminated it; beyond that, V8 ends the
 * process. One collection moves up to the whole young heap: too much with the 32 MB of `npm start`.
 */
const YOUNG_HEAP = '--max-semi-space-size=8';

/** Thread whose program answers each `Job` with an `Answer`; both must be structured-cloneable. */
export class JobThread<Job, Answer> {
  private readonly turns: ConcurrencyLimit;
  private worker: Worker | undefined;
  private isStopped = false;

  constructor(private readonly options: JobThreadOptions) {
    this.turns = new ConcurrencyLimit(1, options.waitingMax);
  }

  /**
   * Returns the answer to a job, or `GIVEN_UP` if it takes longer than `msMax` or too much memory. `moved` is
   * memory that is transferred to the thread instead of being copied. Rejects with `Unavailable` if too many
   * jobs wait or no thread can be started, and with the program's error if it fails.
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

  /** Terminates the thread. The running job is given up, and later ones are rejected with `Unavailable`. */
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
      // The thread gets none of the service's settings, which include secrets.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMibMax },
    });
    // The thread must not keep the process alive, and without a listener its error would end the process.
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
 * Calls `begin`, and returns the next message of a thread. Rejects with `GIVEN_UP` if there is none within
 * `msMax` or the thread ends first, and with its error if it fails.
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
