// Routes of the public feeds, and caches of what they serve: release notes, cached by the state of a channel,
// and appcasts, cached for as long as the candidate or plan that they show.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { isFailure } from '../../contract/failure.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import {
  compareServing,
  orderOf,
  type ServingOrder,
  type ServingSnapshot,
} from '../../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Appcast, AppcastDocuments } from '../../updater/sparkle.ts';
import { type ChannelHandlerDependencies, channelHandler } from '../device/download-routes.ts';
import type { Handler } from '../transport/exchange.ts';
import { conditionalReply, type Reply, type TaggedBody } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { type FeedHead, type FeedName, releaseNotesOf, writeAppcast } from './feed-formats.ts';
import type { NotesRenderer } from './notes-renderer.ts';

type Written = {
  /** The complete appcast, once it is written. */
  document: Buffer | undefined;
  /** The appcast without notes, if a check was answered with it. */
  plain: Buffer | undefined;
  /** Resolves when writing the appcast has succeeded or failed; undefined while nothing writes it. */
  writing: Promise<void> | undefined;
};

/** Maximum wait of a check for notes: most take milliseconds, but the first ones also start the thread. */
const WAIT_MS_MAX = 2000;

export class RenderedAppcasts implements AppcastDocuments {
  private readonly known = new WeakMap<object, Written>();

  /** `address` returns the base URL of the service, without a trailing slash. */
  constructor(
    private readonly renderer: Pick<NotesRenderer, 'appcast'>,
    private readonly address: () => string,
    private readonly metrics: Pick<Metrics, 'faults'>,
  ) {}

  ready(of: object, describe: () => Appcast): Promise<void> | undefined {
    const written = this.writtenOf(of);
    if (written.document !== undefined) return undefined;
    if (written.writing === undefined) {
      const appcast = describe();
      if (appcast.item === undefined || appcast.item.release.notes === '') return undefined;
      written.writing = this.write(written, appcast);
    }
    // Once a check has been answered without the notes, no other check waits for them.
    return written.plain === undefined ? withinTime(written.writing, WAIT_MS_MAX) : undefined;
  }

  document(of: object, describe: () => Appcast): Buffer {
    const written = this.writtenOf(of);
    const known = written.document ?? written.plain;
    if (known !== undefined) return known;
    const appcast = describe();
    const bytes = Buffer.from(writeAppcast(appcast, this.address(), undefined), 'utf8');
    const hasNotes = appcast.item !== undefined && appcast.item.release.notes !== '';
    if (hasNotes) written.plain = bytes;
    else written.document = bytes;
    return bytes;
  }

  private writtenOf(of: object): Written {
    const known = this.known.get(of);
    if (known !== undefined) return known;
    const written: Written = { document: undefined, plain: undefined, writing: undefined };
    this.known.set(of, written);
    return written;
  }

  private async write(written: Written, appcast: Appcast): Promise<void> {
    try {
      written.document = await this.renderer.appcast(appcast, this.address());
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.metrics.faults.add('notes');
    } finally {
      // If writing failed, the next check tries again.
      written.writing = undefined;
    }
  }
}

// Routes of a channel's release-notes feeds, which are public: `/feed/{appRef}/{channel}`, as JSON and as
// RSS.

type Headers = NonNullable<Reply['headers']>;

const OPEN_TO_ALL: Headers = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'ETag, Retry-After'],
];
/** Clients may cache a feed for 60 s; the node itself serves every change at once. */
const FEED_HEADERS: Headers = [
  ...OPEN_TO_ALL,
  ['Cache-Control', 'public, max-age=60'],
  // Publishers write the notes: browsers must not interpret them as a page.
  ['X-Content-Type-Options', 'nosniff'],
];
/** Answer to a preflight: scripts of other origins may send any headers, such as `If-None-Match`. */
const PREFLIGHT: Reply = {
  status: 204,
  headers: [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', 'GET, HEAD'],
    ['Access-Control-Allow-Headers', '*'],
    ['Access-Control-Max-Age', '86400'],
  ],
};
const CONTENT_TYPES: Readonly<Record<FeedName, string>> = {
  json: 'application/json',
  rss: 'application/rss+xml; charset=utf-8',
};

/** Builds the routes of the release-notes feeds. */
export function releaseNotesRoutes(
  dependencies: ChannelHandlerDependencies,
  feeds: RenderedReleaseNotes,
): readonly Route[] {
  const serving = (format: FeedName): Handler =>
    channelHandler({ ...dependencies, refusalHeaders: OPEN_TO_ALL }, async (exchange, find) => {
      const catalog = await find();
      if (isFailure(catalog)) return catalog;
      const body = await feeds.render(format, catalog.snapshot);
      const ifNoneMatch = exchange.headers.get('if-none-match');
      return conditionalReply(ifNoneMatch, body, CONTENT_TYPES[format], FEED_HEADERS);
    });
  const path = '/feed/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving('json') },
    { method: 'OPTIONS', path, handler: () => PREFLIGHT },
    { method: 'GET', path: `${path}/rss.xml`, handler: serving('rss') },
    { method: 'OPTIONS', path: `${path}/rss.xml`, handler: () => PREFLIGHT },
  ];
}

// Cache of rendered feeds: a feed is rendered once per state of its channel (epoch and revision), on the
// first request, and cached within a bound.
//
// A large feed takes a while, so a separate thread writes it, release by release. It writes one feed at a
// time, and concurrent requests for a feed share the result. Update checks never wait for a feed.

type Kept = { readonly order: ServingOrder; readonly body: TaggedBody };

const CHANNELS_MAX = 20_000;
/** Maximum bytes of all cached feeds. A single feed above the bound is rendered for every request. */
const BYTES_MAX = 128 * 1024 * 1024;
const WAITING_MAX = 1000;

export class RenderedReleaseNotes {
  private readonly kept = new LRUCache<string, Kept>({
    max: CHANNELS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ body }) => body.bytes.length,
  });
  private readonly running = new Map<string, Promise<TaggedBody>>();
  private readonly limit = new ConcurrencyLimit(1, WAITING_MAX);

  /** `address` returns the base URL of the service, without a trailing slash. */
  constructor(
    private readonly renderer: Pick<NotesRenderer, 'item' | 'feed'>,
    private readonly address: () => string,
  ) {}

  /**
   * Returns the feed of a channel in a format. Rejects with `Unavailable` if too many other feeds are queued.
   */
  async render(format: FeedName, snapshot: ServingSnapshot): Promise<TaggedBody> {
    const name = `${format} ${snapshot.channelId}`;
    const order = orderOf(snapshot);
    const kept = this.kept.get(name);
    if (kept !== undefined && compareServing(kept.order, order) === 0) return kept.body;
    const edition = `${name} ${order.epoch}/${order.revision}`;
    const running = this.running.get(edition);
    if (running !== undefined) return running;
    const rendering = this.limit
      .pass(async () => {
        const body = await this.write(format, snapshot);
        this.keep(name, { order, body });
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
      // Copying the next release to the other thread takes time as well.
      await nextTurn();
    }
    return this.renderer.feed(format, feed, items);
  }

  private keep(name: string, fresh: Kept): void {
    const held = this.kept.peek(name);
    if (held === undefined || compareServing(held.order, fresh.order) < 0)
      this.kept.set(name, fresh);
  }
}
