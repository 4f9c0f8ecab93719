// Order in which an app's channels are shown.

const STABLE = 'stable';
const NATURAL = new Intl.Collator('en', { numeric: true });

/** Compares two channels: `stable` first, then by name, in which `channel-9` comes before `channel-19`. */
export function channelOrder(one: string, other: string): number {
  if (one === other) return 0;
  if (one === STABLE) return -1;
  return other === STABLE ? 1 : NATURAL.compare(one, other);
}

/** Returns the names of an app's channels in this order. */
export function channelNames(app: {
  readonly channels: readonly { readonly name: string }[];
}): readonly string[] {
  return app.channels.map(({ name }) => name).toSorted(channelOrder);
}
