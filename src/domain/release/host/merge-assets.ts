// Merges artifacts when a code host announces a release again with other files. Events add files and never
// remove any, because one click sends several events, which arrive in any order.

import type { Artifact } from '../../../contract/resource.ts';

/**
 * Returns the artifacts after another event; undefined if they stay the same. Files with equal names are the
 * same file: the announced one replaces the present one if `replaces` is true.
 */
export function mergeAssets<Item extends Pick<Artifact, 'url'>>(
  present: readonly Item[],
  announced: readonly Item[],
  replaces: boolean,
): readonly Item[] | undefined {
  const names = new Map(announced.map((item) => [nameOf(item), item]));
  const merged = replaces ? present.map((item) => names.get(nameOf(item)) ?? item) : present;
  const known = new Set(present.map(nameOf));
  const all = [...merged, ...announced.filter((item) => !known.has(nameOf(item)))];
  const isSame =
    all.length === present.length && all.every((item, place) => isEqual(item, present[place]));
  return isSame ? undefined : all;
}

/** Returns whether two releases have the same artifacts in any order. */
export function hasSameAssets(one: readonly object[], other: readonly object[]): boolean {
  const texts = (items: readonly object[]) => items.map(textOf).sort().join('\n');
  return one.length === other.length && texts(one) === texts(other);
}

/** Returns the file name at the end of a URL, still percent-encoded. */
function nameOf({ url = '' }: Pick<Artifact, 'url'>): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

function isEqual(one: object, other: object | undefined): boolean {
  return other !== undefined && textOf(one) === textOf(other);
}

function textOf(item: object): string {
  return JSON.stringify(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)));
}
