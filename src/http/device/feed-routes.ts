// The release-notes feeds of a channel, for anybody: `/feed/{appRef}/{channel}`, as JSON and as RSS.

import { type Failure, failUntil, isFailure } from '../../contract/failure.ts';
import type { Catalogs } from '../../operations/catalogs.ts';
import { conditionalReply } from '../conditional.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { JSON_FEED } from '../format/json-feed.ts';
import type { FeedFormat } from '../format/release-feed.ts';
import { rssFeed } from '../format/rss-feed.ts';
import { failureReply, NO_STORE, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import type { DeviceGate } from './device-gate.ts';
import { RenderedFeeds } from './rendered-feeds.ts';

type Headers = NonNullable<Reply['headers']>;

const OPEN_TO_ALL: Headers = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'ETag, Retry-After'],
];
/** The 60 s are the reader's; this node has every change at once. */
const FEED_HEADERS: Headers = [
  ...OPEN_TO_ALL,
  ['Cache-Control', 'public, max-age=60'],
  // Notes are a publisher's: no browser shall take them for a page, whatever they look like.
  ['X-Content-Type-Options', 'nosniff'],
];
/** What a 404 says is unknown may be there a second later. */
const REFUSAL_HEADERS: Headers = [...OPEN_TO_ALL, ...NO_STORE];
/** For scripts that send `If-None-Match` themselves, or a device id with everything. */
const PREFLIGHT: Reply = {
  status: 204,
  headers: [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', 'GET, HEAD'],
    ['Access-Control-Allow-Headers', '*'],
    ['Access-Control-Max-Age', '86400'],
  ],
};
const RETRY_MS = 1000;

/** `address` is where the service can be called, without a slash at its end. */
export function feedRoutes(
  catalogs: Catalogs,
  gate: Pick<DeviceGate, 'limitExchange'>,
  address: () => string,
): readonly Route[] {
  const feeds = new RenderedFeeds();
  const serving = (format: FeedFormat): Handler => {
    return async (exchange) => {
      const refusal = await gate.limitExchange(exchange);
      if (refusal !== undefined) return refusalReply(refusal);
      return serveFeed(exchange, catalogs, feeds, format);
    };
  };
  const path = '/feed/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving(JSON_FEED) },
    { method: 'OPTIONS', path, handler: () => PREFLIGHT },
    { method: 'GET', path: `${path}/rss.xml`, handler: serving(rssFeed(address)) },
    { method: 'OPTIONS', path: `${path}/rss.xml`, handler: () => PREFLIGHT },
  ];
}

function refusalReply(failure: Failure): Reply {
  const refusal = failureReply(failure);
  return { ...refusal, headers: [...(refusal.headers ?? []), ...REFUSAL_HEADERS] };
}

async function serveFeed(
  exchange: Exchange,
  catalogs: Catalogs,
  feeds: RenderedFeeds,
  format: FeedFormat,
): Promise<Reply> {
  const { params } = exchange;
  const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
  // A slot is empty when its channel had to make room just now.
  const catalog = isFailure(slot) ? undefined : slot.catalog;
  if (catalog === undefined) {
    return refusalReply(isFailure(slot) ? slot : failUntil('unavailable', RETRY_MS));
  }
  const body = await feeds.render(format, catalog.snapshot);
  return conditionalReply(
    exchange.headers.get('if-none-match'),
    body,
    format.contentType,
    FEED_HEADERS,
  );
}
