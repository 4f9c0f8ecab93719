// URL paths and query strings of the console.

import { pathSegment } from '../../contract/path-segment.ts';

export const consolePath = {
  apps: '/console/apps',
  audit: '/console/audit',
  approvals: '/console/approvals',
  approval: (id: string) => `/console/approvals/${pathSegment(id)}`,
  help: '/console/help',
  invitation: (token: string) => `/console/invitation/${token}`,
  settings: (section = 'keys') => `/console/settings/${section}`,
  app: (ref: string) => `/console/apps/${pathSegment(ref)}`,
  channel: (ref: string, channel: string) =>
    `/console/apps/${pathSegment(ref)}/${pathSegment(channel)}`,
  release: (ref: string, channel: string, version: string) =>
    `${consolePath.channel(ref, channel)}/${pathSegment(version)}`,
  fleet: (ref: string) => `${consolePath.app(ref)}/fleet`,
  devices: (ref: string) => `${consolePath.fleet(ref)}/devices`,
  device: (ref: string, deviceId: string) =>
    `${consolePath.app(ref)}/devices/${pathSegment(deviceId)}`,
} as const;

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
