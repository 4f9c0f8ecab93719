// Feeds as bytes: written once per revision of a channel, when first asked for, and kept while there is room.
//
// Writing a large feed takes a while, so it pauses between releases; one feed is written at a time, and
// those who ask for it meanwhile share it. Whoever checks for an update never waits for a feed.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ServingSnapshot } from '../../domain/serving-snapshot.ts';
import { Turnstile } from '../../operations/turnstile.ts';
import { type TaggedBody, tagBody } from '../conditional.ts';
import { type FeedFormat, releaseFeed } from '../format/release-feed.ts';

type Kept = { readonly revision: number; readonly body: TaggedBody };

const CHANNELS_MAX = 20_000;
/** A feed that is larger alone is written for each who asks. */
const BYTES_MAX = 128 * 1024 * 1024;
const WAITING_MAX = 1000;
const SLICE_MS = 5;

export class RenderedFeeds {
  private readonly kept = new LRUCache<string, Kept>({
    max: CHANNELS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ body }) => body.bytes.length,
  });
  private readonly running = new Map<string, Promise<TaggedBody>>();
  private readonly turnstile = new Turnstile(1, WAITING_MAX);

  /** The feed of a channel in a format. Rejects with `Unavailable` when too many others are waited for. */
  async render(format: FeedFormat, snapshot: ServingSnapshot): Promise<TaggedBody> {
    const { channelId, revision } = snapshot;
    const name = `${format.contentType} ${channelId}`;
    const kept = this.kept.get(name);
    if (kept?.revision === revision) return kept.body;
    const edition = `${name} ${revision}`;
    const running = this.running.get(edition);
    if (running !== undefined) return running;
    const rendering = this.turnstile
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

async function write(format: FeedFormat, snapshot: ServingSnapshot): Promise<TaggedBody> {
  const feed = releaseFeed(snapshot);
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
