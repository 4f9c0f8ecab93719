// What becomes of a release's artifacts when its code host announces it once more, with other files. Events
// add, and never remove: which of several events of one click comes first is chance.

import type { Artifact } from '../../contract/resource.ts';

/**
 * Returns the artifacts of a release after another event, undefined when they stay as they are. Files are the
 * same when their names are: the later one takes the place of the former. A release that is not held takes an
 * event only when that has more files, because devices may be offered it at any moment.
 */
export function mergeAssets<Item extends Pick<Artifact, 'url'>>(
  present: readonly Item[],
  announced: readonly Item[],
  isHeld: boolean,
): readonly Item[] | undefined {
  if (!isHeld && announced.length <= present.length) return undefined;
  const names = new Map(announced.map((item) => [nameOf(item), item]));
  const merged = present.map((item) => names.get(nameOf(item)) ?? item);
  const known = new Set(present.map(nameOf));
  const all = [...merged, ...announced.filter((item) => !known.has(nameOf(item)))];
  const isSame =
    all.length === present.length && all.every((item, place) => isEqual(item, present[place]));
  return isSame ? undefined : all;
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
