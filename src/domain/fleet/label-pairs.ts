// Labels as pairs of texts, as they travel and are kept: an object could not hold a label named `__proto__`.

/** Whether a parsed value is a list of pairs of texts. */
export function isLabelPairs(value: unknown): value is [string, string][] {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string',
    )
  );
}
