// The console's addresses, written and read in one place. A name becomes one segment: one that would mean
// something else there gets a `~` in front, which no channel's name begins with.

/** Segments below an app that are pages of their own, and those that browsers fold away. */
const RESERVED: ReadonlySet<string> = new Set(['fleet', 'devices', '.', '..']);

/** Addresses of the pages. */
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

/** A text as one path segment; `readSegment` gives it back. */
export function pathSegment(text: string): string {
  const isTaken = RESERVED.has(text) || text.startsWith('~');
  return encodeURIComponent(isTaken ? `~${text}` : text);
}

/** The text of a segment that the router has already decoded. */
export function readSegment(segment: string): string {
  return segment.startsWith('~') ? segment.slice(1) : segment;
}

/** Whether every segment of an address can be decoded; the router would stumble over one that cannot. */
export function isReadablePath(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
