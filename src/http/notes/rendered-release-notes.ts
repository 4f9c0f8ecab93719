// Cache of rendered feeds: a feed is rendered once per revision of its channel, on the first request, and
// cached within a bound.
//
// Rendering a large feed takes a while, so it pauses between releases. One feed is rendered at a time, and
// concurrent requests for it share the result. Update checks never wait for a feed.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import { type TaggedBody, tagBody } from '../conditional.ts';
import { type ReleaseNotesFormat, releaseNotesOf } from './release-notes.ts';

type Kept = { readonly revision: number; readonly body: TaggedBody };

const CHANNELS_MAX = 20_000;
/** Maximum bytes of all cached feeds. A single feed above the bound is rendered for every request. */
const BYTES_MAX = 128 * 1024 * 1024;
const WAITING_MAX = 1000;
const SLICE_MS = 5;

export class RenderedReleaseNotes {
  private readonly kept = new LRUCache<string, Kept>({
    max: CHANNELS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ body }) => body.bytes.length,
  });
  private readonly running = new Map<string, Promise<TaggedBody>>();
  private readonly limit = new ConcurrencyLimit(1, WAITING_MAX);

  /**
   * Returns the feed of a channel in a format. Rejects with `Unavailable` when too many other feeds are
   * queued.
   */
  async render(format: ReleaseNotesFormat, snapshot: ServingSnapshot): Promise<TaggedBody> {
    const { channelId, revision } = snapshot;
    const name = `${format.contentType} ${channelId}`;
    const kept = this.kept.get(name);
    if (kept?.revision === revision) return kept.body;
    const edition = `${name} ${revision}`;
    const running = this.running.get(edition);
    if (running !== undefined) return running;
    const rendering = this.limit
      .pass(async () => {
        const body = await write(format, snapshot);
        this.keep(name, { revision, body });
        return body;
      })
      .finally(() => this.running.delete(edition));
    this.running.set(edition, rendering);
    return rendering;
  }

  private keep(name: string, fresh: Kept): void {
    const held = this.kept.peek(name);
    if (held === undefined || held.revision < fresh.revision) this.kept.set(name, fresh);
  }
}

async function write(format: ReleaseNotesFormat, snapshot: ServingSnapshot): Promise<TaggedBody> {
  const feed = releaseNotesOf(snapshot);
  const items: string[] = [];
  let sliceBegan = performance.now();
  for (const release of feed.releases) {
    items.push(format.item(feed, release));
    if (performance.now() - sliceBegan < SLICE_MS) continue;
    await nextTurn();
    sliceBegan = performance.now();
  }
  return tagBody(Buffer.from(format.open(feed) + items.join(format.separator) + format.close));
}
