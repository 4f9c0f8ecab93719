// Reads addresses in place of `URL.canParse`: as soon as V8 has optimized its caller, Node 20 takes a letter
// such as "ä" in the address for broken UTF-8, and refuses every address that has one.

/** Returns the parsed address; undefined when the text is none. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
