// The update file that electron-updater reads (`latest.yml` and its kin), for one release. Layout: what
// electron-builder writes and builder-util-runtime's `UpdateInfo` describes.

import { dump } from 'js-yaml';
import type { FeedCandidate } from '../../domain/catalog.ts';
import { type FeedArtifact, feedUrl } from '../../domain/feed-artifacts.ts';

/**
 * The file's text. Strings are quoted, since an unquoted date becomes a Date and `1.10` a number; there is
 * never a `stagingPercentage`, because who is in was decided here.
 */
export function electronFeed({ release, artifacts }: FeedCandidate): string {
  const [first] = artifacts;
  const { notes, createdAt } = release.source;
  return dump(
    {
      version: release.version.canonical,
      files: artifacts.map((artifact) => fileOf(artifacts, artifact)),
      // Read by clients before 2.16 only, which know nothing of `files`.
      ...(first === undefined ? {} : { path: first.url, ...checksumOf(first) }),
      ...(notes === '' ? {} : { releaseNotes: notes }),
      releaseDate: createdAt,
    },
    { forceQuotes: true, lineWidth: -1, noRefs: true },
  );
}

function fileOf(artifacts: readonly FeedArtifact[], artifact: FeedArtifact) {
  const { size } = artifact;
  return {
    url: feedUrl(artifacts, artifact),
    ...checksumOf(artifact),
    ...(size === undefined ? {} : { size }),
  };
}

/** SHA-512 where there is one: by `sha2` clients fetch a file whole, and again after a restart. */
function checksumOf({ sha512 = '', sha256 }: FeedArtifact) {
  return sha512 === '' ? { sha2: sha256 } : { sha512: base64Of(sha512) };
}

const HEX_SHA512 = /^[0-9a-f]{128}$/i;

/** Updaters compare base64; a sum in hex would make them fetch the same file again at every start. */
function base64Of(sha512: string): string {
  return HEX_SHA512.test(sha512) ? Buffer.from(sha512, 'hex').toString('base64') : sha512;
}
