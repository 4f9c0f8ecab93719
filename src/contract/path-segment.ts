// Names as segments of the console's paths, in its pages and in the links of messages. A name that would have
// another meaning there gets a leading `~`, which no channel name has.

/** Segments below an app that are pages. */
const RESERVED: ReadonlySet<string> = new Set(['fleet', 'devices']);

/** Returns whether clients that follow the URL standard fold a segment away, percent-encoded or not. */
export function isFoldedAway(segment: string): boolean {
  return segment === '.' || segment === '..';
}

/** Encodes a text as one path segment; `readSegment` decodes it. */
export function pathSegment(text: string): string {
  const isTaken = RESERVED.has(text) || isFoldedAway(text) || text.startsWith('~');
  return encodeURIComponent(isTaken ? `~${text}` : text);
}

/** Returns the text of a segment that the router has percent-decoded. */
export function readSegment(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}
