// Rendering of release notes and writing of feeds beside the serving thread, with a time limit: notes come
// from strangers, and some take hundreds of milliseconds. Notes that take too long are shown as they were
// written.

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Release } from '../../contract/resource.ts';
import { Unavailable } from '../../contract/unavailable.ts';
import type { Appcast } from '../../updater/sparkle.ts';
import type { TaggedBody } from '../conditional.ts';
import { GIVEN_UP, JobThread } from './job-thread.ts';
import type {
  AppcastJob,
  HtmlJob,
  ItemJob,
  NotesAnswer,
  NotesJob,
  WrittenFeed,
} from './notes-job.ts';
import type { FeedHead, FeedName } from './release-notes.ts';

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
  private readonly thread: Pick<JobThread<NotesJob, NotesAnswer>, 'ask' | 'stop'>;
  /** Digests of the texts that took too long. */
  private readonly slow = new LRUCache<string, true>({
    max: SLOW_TEXTS_MAX,
    ttl: SLOW_TEXTS_TTL_MS,
  });

  constructor(thread: Pick<JobThread<NotesJob, NotesAnswer>, 'ask' | 'stop'> = notesThread()) {
    this.thread = thread;
  }

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
    if (answer === GIVEN_UP) throw new Unavailable('engine', 'a feed took too long');
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
    if (answer === GIVEN_UP) throw new Unavailable('engine', 'notes took too long');
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
