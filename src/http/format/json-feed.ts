// The release-notes feed as JSON (contract 4.9): `{ app, channel, releases: [Release] }`.

import type { FeedFormat } from './release-feed.ts';

export const JSON_FEED: FeedFormat = {
  contentType: 'application/json',
  open: ({ app, channel }) =>
    `{"app":${JSON.stringify(app)},"channel":${JSON.stringify(channel)},"releases":[`,
  item: (_feed, release) => JSON.stringify(release),
  separator: ',',
  close: ']}',
};
