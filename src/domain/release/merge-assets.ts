// What becomes of a release's artifacts when its code host announces it once more, with other files. Events
// add, and never remove: which of several events of one click comes first is chance.

import type { Artifact } from '../../contract/resource.ts';

/**
 * Returns the artifacts of a release after another event, undefined when they stay as they are. Files are the
 * same when their names are: the announced one takes the place of the present one if `replaces` says so.
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

/** Whether two releases have the same artifacts, in whatever order. */
export function hasSameAssets(one: readonly object[], other: readonly object[]): boolean {
  const texts = (items: readonly object[]) => items.map(textOf).sort().join('\n');
  return one.length === other.length && texts(one) === texts(other);
}

/** Returns the file name at the end of an address. */
function nameOf({ url = '' }: Pick<Artifact, 'url'>): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

function isEqual(one: object, other: object | undefined): boolean {
  return other !== undefined && textOf(one) === textOf(other);
}

function textOf(item: object): string {
  return JSON.stringify(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)));
}
