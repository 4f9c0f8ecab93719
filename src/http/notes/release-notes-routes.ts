// Routes of a channel's release-notes feeds, which are public: `/feed/{appRef}/{channel}`, as JSON and as
// RSS.

import { isFailure } from '../../contract/failure.ts';
import { conditionalReply } from '../conditional.ts';
import { type ChannelHandlerDependencies, channelHandler } from '../device/channel-handler.ts';
import type { Handler } from '../exchange.ts';
import type { Reply } from '../reply.ts';
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

/** Builds the routes. */
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
