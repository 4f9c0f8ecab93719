// The order of versions, which the database does not know.

import { compareVersions, parseVersion, type Version } from '../../domain/version.ts';

/** Highest first. A version that no longer parses comes last. */
export function byVersion<Item>(
  items: readonly Item[],
  versionOf: (item: Item) => string,
): readonly Item[] {
  return items
    .map((item): [Item, Version | undefined] => [item, parseVersion(versionOf(item))])
    .sort(([, left], [, right]) => {
      if (left === undefined || right === undefined) {
        return Number(left === undefined) - Number(right === undefined);
      }
      return compareVersions(right, left);
    })
    .map(([item]) => item);
}
