// Routes of a channel's release-notes feeds, which are public: `/feed/{appRef}/{channel}`, as JSON and as
// RSS.

import { type Failure, failUntil, isFailure } from '../../contract/failure.ts';
import type { Catalogs } from '../../operations/serving/catalogs.ts';
import { conditionalReply } from '../conditional.ts';
import type { DeviceGate } from '../device/device-gate.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, NO_STORE, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import type { FeedName } from './release-notes.ts';
import type { RenderedReleaseNotes } from './rendered-release-notes.ts';

type Headers = NonNullable<Reply['headers']>;

const OPEN_TO_ALL: Headers = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'ETag, Retry-After'],
];
/** Clients may cache a feed for 60 s; the node itself serves every change at once. */
const FEED_HEADERS: Headers = [
  ...OPEN_TO_ALL,
  ['Cache-Control', 'public, max-age=60'],
  // Notes are publisher content: browsers must not interpret them as a page.
  ['X-Content-Type-Options', 'nosniff'],
];
/** A 404 is not cached, because the app or channel may exist a moment later. */
const REFUSAL_HEADERS: Headers = [...OPEN_TO_ALL, ...NO_STORE];
/** Headers that scripts of other origins may send: `If-None-Match` and a device id. */
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
const RETRY_MS = 1000;

/** Builds the routes. */
export function releaseNotesRoutes(
  catalogs: Catalogs,
  gate: Pick<DeviceGate, 'limitExchange'>,
  feeds: RenderedReleaseNotes,
): readonly Route[] {
  const serving = (format: FeedName): Handler => {
    return async (exchange) => {
      const refusal = await gate.limitExchange(exchange);
      if (refusal !== undefined) return feedRefusal(refusal);
      return serveFeed(exchange, catalogs, feeds, format);
    };
  };
  const path = '/feed/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving('json') },
    { method: 'OPTIONS', path, handler: () => PREFLIGHT },
    { method: 'GET', path: `${path}/rss.xml`, handler: serving('rss') },
    { method: 'OPTIONS', path: `${path}/rss.xml`, handler: () => PREFLIGHT },
  ];
}

function feedRefusal(failure: Failure): Reply {
  const refusal = failureReply(failure);
  return { ...refusal, headers: [...(refusal.headers ?? []), ...REFUSAL_HEADERS] };
}

async function serveFeed(
  exchange: Exchange,
  catalogs: Catalogs,
  feeds: RenderedReleaseNotes,
  format: FeedName,
): Promise<Reply> {
  const { params } = exchange;
  const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
  // A slot is empty when its channel was evicted just now.
  const catalog = isFailure(slot) ? undefined : slot.catalog;
  if (catalog === undefined) {
    return feedRefusal(isFailure(slot) ? slot : failUntil('unavailable', RETRY_MS));
  }
  const body = await feeds.render(format, catalog.snapshot);
  return conditionalReply(
    exchange.headers.get('if-none-match'),
    body,
    CONTENT_TYPES[format],
    FEED_HEADERS,
  );
}
