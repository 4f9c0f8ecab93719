// URL paths of the console, written and read in one place, and query strings. A name becomes one path
// segment. A name that would mean something else there gets a `~` in front, which no channel's name begins
// with.

/** Path segments below an app that are pages, and the ones that browsers normalise away. */
const RESERVED: ReadonlySet<string> = new Set(['fleet', 'devices', '.', '..']);

/** URL paths of the pages. */
export const consolePath = {
  apps: '/console/apps',
  audit: '/console/audit',
  settings: (section = 'keys') => `/console/settings/${section}`,
  app: (ref: string) => `/console/apps/${pathSegment(ref)}`,
  channel: (ref: string, channel: string) =>
    `/console/apps/${pathSegment(ref)}/${pathSegment(channel)}`,
  release: (ref: string, channel: string, version: string) =>
    `${consolePath.channel(ref, channel)}/${pathSegment(version)}`,
  fleet: (ref: string) => `${consolePath.app(ref)}/fleet`,
  device: (ref: string, deviceId: string) =>
    `${consolePath.app(ref)}/devices/${pathSegment(deviceId)}`,
} as const;

/** Encodes a text as one path segment; `readSegment` decodes it. */
export function pathSegment(text: string): string {
  const isTaken = RESERVED.has(text) || text.startsWith('~');
  return encodeURIComponent(isTaken ? `~${text}` : text);
}

/** Returns the text of a segment that the router has already percent-decoded. */
export function readSegment(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}

/** Returns whether every segment of a path can be decoded; the router throws on one that cannot. */
export function isReadablePath(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

export type QueryValue = string | number | boolean | null | undefined;

/** Builds `?a=1&b=x` without parameters that are null, undefined or empty; returns '' when none is left. */
export function queryText(fields: Readonly<Record<string, QueryValue>>): '' | `?${string}` {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null || value === '') continue;
    query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
