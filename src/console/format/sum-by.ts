// Sums of counts by a common text.

/** Adds up counts by the text that `keyOf` returns and sorts the sums, largest first. */
export function sumBy<Item extends { readonly devices: number }>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly (readonly [key: string, devices: number])[] {
  const sums = new Map<string, number>();
  for (const item of items) {
    const key = keyOf(item);
    sums.set(key, (sums.get(key) ?? 0) + item.devices);
  }
  return [...sums].sort(([, left], [, right]) => right - left);
}
