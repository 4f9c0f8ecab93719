// URL paths and query strings of the console. A name becomes one path segment; a name that would have another
// meaning there gets a leading `~`, which no channel name has.

/** Segments below an app that are pages, and those that browsers normalise away. */
const RESERVED: ReadonlySet<string> = new Set(['fleet', 'devices', '.', '..']);

export const consolePath = {
  apps: '/console/apps',
  audit: '/console/audit',
  approvals: '/console/approvals',
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

/** Returns the text of a segment that the router has percent-decoded. */
export function readSegment(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}

/** Returns whether every segment of a path can be decoded; the router throws otherwise. */
export function isReadablePath(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

export type QueryValue = string | number | boolean | null | undefined;

/** Builds `?a=1&b=x` without null, undefined or empty parameters; '' if none is left. */
export function queryText(fields: Readonly<Record<string, QueryValue>>): '' | `?${string}` {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null || value === '') continue;
    query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
