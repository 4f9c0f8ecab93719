// Sorts lists by version.

import { compareVersions, parseVersion, type Version } from './version.ts';

/** Returns the items, highest version first. An item whose version does not parse comes last. */
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
