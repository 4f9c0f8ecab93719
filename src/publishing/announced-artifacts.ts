// Artifacts of a release that a code host announces: the files that devices can install. The answer to the
// code host names the other files, so that a missing artifact is noticed before devices need it.

import { LIMIT } from '../contract/limit.ts';
import { storableText } from '../contract/text.ts';
import { classifyAssets } from '../domain/release/asset/classify-assets.ts';
import type { NewArtifact } from '../store/ledger-terms.ts';

/** File of a release, as its code host announces it. */
export type AnnouncedAsset = {
  readonly name: string;
  readonly url: string;
  /** Size in bytes. */
  readonly size: number | undefined;
  /** SHA-256 in lower-case hex. */
  readonly digest: string | undefined;
  /** Whether the upload is complete; false while it is in progress or after it failed. */
  readonly isUploaded: boolean;
  /** Time of the upload, RFC 3339; undefined if the code host gives none. */
  readonly createdAt: string | undefined;
};

/** Maximum number of names in a sentence, and of characters of each. */
const NAMES_MAX = 50;
const NAME_LENGTH_MAX = 100;

/** Returns the artifacts among the files, in the same order, at most `LIMIT.artifactCountMax`. */
export function announcedArtifacts(assets: readonly AnnouncedAsset[]): {
  readonly artifacts: readonly NewArtifact[];
  /** Sentences that name the files which are not among the artifacts. */
  readonly remarks: readonly string[];
} {
  const targets = classifyAssets(assets.map(({ name }) => name));
  const all = assets.flatMap(({ url, size, digest, isUploaded }, index): NewArtifact[] => {
    const target = targets[index];
    if (target === undefined || !isUploaded) return [];
    const sizePart = size === undefined ? {} : { size };
    return [{ ...target, url, ...sizePart, ...(digest === undefined ? {} : { digest }) }];
  });
  const artifacts = all.slice(0, LIMIT.artifactCountMax);
  const beyond = all.length - artifacts.length;
  const leftOut = assets.filter(
    ({ isUploaded }, index) => isUploaded && targets[index] === undefined,
  );
  const remarks = [
    beyond === 0
      ? undefined
      : `${beyond} assets beyond the first ${artifacts.length} were left out`,
    listing(
      'Not uploaded',
      assets.filter(({ isUploaded }) => !isUploaded),
    ),
    listing('Left out, since no device installs them', leftOut),
  ];
  return { artifacts, remarks: remarks.filter((remark) => remark !== undefined) };
}

function listing(
  what: string,
  assets: readonly Pick<AnnouncedAsset, 'name'>[],
): string | undefined {
  if (assets.length === 0) return undefined;
  const names = assets.slice(0, NAMES_MAX).map(({ name }) => shown(name));
  const more = assets.length - names.length;
  return `${what}: ${names.join(', ')}${more === 0 ? '' : `, and ${more} more`}`;
}

function shown(name: string): string {
  return storableText(name.slice(0, NAME_LENGTH_MAX));
}
