// Parses URLs in place of `URL.canParse`: once V8 has optimized its caller, Node 20 takes a letter such as
// "ä" in a URL for broken UTF-8, and refuses every URL that has one.

/** Returns the parsed URL; undefined if the text is none. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
