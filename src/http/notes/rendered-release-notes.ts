// Cache of rendered feeds: a feed is rendered once per revision of its channel, on the first request, and
// cached within a bound.
//
// A large feed takes a while, so it is written beside the serving thread, release by release. One feed is
// written at a time, and concurrent requests for it share the result. Update checks never wait for a feed.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { TaggedBody } from '../conditional.ts';
import type { NotesRenderer } from './notes-renderer.ts';
import { type FeedHead, type FeedName, releaseNotesOf } from './release-notes.ts';

type Kept = { readonly revision: number; readonly body: TaggedBody };

const CHANNELS_MAX = 20_000;
/** Maximum bytes of all cached feeds. A single feed above the bound is rendered for every request. */
const BYTES_MAX = 128 * 1024 * 1024;
const WAITING_MAX = 1000;

export class RenderedReleaseNotes {
  private readonly renderer: Pick<NotesRenderer, 'item' | 'feed'>;
  private readonly address: () => string;
  private readonly kept = new LRUCache<string, Kept>({
    max: CHANNELS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ body }) => body.bytes.length,
  });
  private readonly running = new Map<string, Promise<TaggedBody>>();
  private readonly limit = new ConcurrencyLimit(1, WAITING_MAX);

  /** `address` returns the base URL of the service, without a slash at its end. */
  constructor(renderer: Pick<NotesRenderer, 'item' | 'feed'>, address: () => string) {
    this.renderer = renderer;
    this.address = address;
  }

  /**
   * Returns the feed of a channel in a format. Rejects with `Unavailable` when too many other feeds are
   * queued.
   */
  async render(format: FeedName, snapshot: ServingSnapshot): Promise<TaggedBody> {
    const { channelId, revision } = snapshot;
    const name = `${format} ${channelId}`;
    const kept = this.kept.get(name);
    if (kept?.revision === revision) return kept.body;
    const edition = `${name} ${revision}`;
    const running = this.running.get(edition);
    if (running !== undefined) return running;
    const rendering = this.limit
      .pass(async () => {
        const body = await this.write(format, snapshot);
        this.keep(name, { revision, body });
        return body;
      })
      .finally(() => this.running.delete(edition));
    this.running.set(edition, rendering);
    return rendering;
  }

  private async write(format: FeedName, snapshot: ServingSnapshot): Promise<TaggedBody> {
    const { app, channel, releases } = releaseNotesOf(snapshot);
    const newestAt = releases[0]?.createdAt;
    const feed: FeedHead = { app, channel, newestAt, address: this.address() };
    const items: Uint8Array<ArrayBuffer>[] = [];
    for (const release of releases) {
      items.push(await this.renderer.item(format, feed, release));
      // Copying the next release to the thread takes a while, too.
      await nextTurn();
    }
    return this.renderer.feed(format, feed, items);
  }

  private keep(name: string, fresh: Kept): void {
    const held = this.kept.peek(name);
    if (held === undefined || held.revision < fresh.revision) this.kept.set(name, fresh);
  }
}
