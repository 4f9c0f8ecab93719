// Release-notes feed as JSON (docs/contract.md 4.9): `{ app, channel, releases: [Release] }`.

import type { ReleaseNotesFormat } from './release-notes.ts';

export const JSON_RELEASE_NOTES: ReleaseNotesFormat = {
  open: ({ app, channel }) =>
    `{"app":${JSON.stringify(app)},"channel":${JSON.stringify(channel)},"releases":[`,
  item: (_feed, release) => JSON.stringify(release),
  separator: ',',
  close: ']}',
};
