// Random numbers that are the same in every run, so that the figures of two runs can be compared.

/** Generator of numbers that are uniform in [0, 1), from a 32-bit seed: Mulberry32 (public domain). */
export function seededRandom(seed: number): () => number {
  const source = { state: seed | 0 };
  return () => drawFrom(source);
}

/** Returns the next number of a source that is kept elsewhere, such as in each of many devices. */
export function drawFrom(source: { state: number }): number {
  const state = (source.state + 0x6d2b79f5) | 0;
  source.state = state;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
}
