// URL paths and query strings of the console.

import { pathSegment } from '../../contract/text.ts';

/**
 * Path of the service's address, which the proxy removes; '' for an address without a path. Every path of the
 * service in a page begins with it.
 */
export const MOUNT = mountOf(import.meta.url);
const HOME = `${MOUNT}/console`;

export const consolePath = {
  home: HOME,
  signIn: `${HOME}/sign-in`,
  join: `${HOME}/join`,
  apps: `${HOME}/apps`,
  audit: `${HOME}/audit`,
  approvals: `${HOME}/approvals`,
  approval: (id: string) => `${consolePath.approvals}/${pathSegment(id)}`,
  help: `${HOME}/help`,
  invitation: (token: string) => `${HOME}/invitation/${token}`,
  settings: (section = 'keys') => `${HOME}/settings/${section}`,
  app: (ref: string) => `${consolePath.apps}/${pathSegment(ref)}`,
  channel: (ref: string, channel: string) => `${consolePath.app(ref)}/${pathSegment(channel)}`,
  release: (ref: string, channel: string, version: string) =>
    `${consolePath.channel(ref, channel)}/${pathSegment(version)}`,
  fleet: (ref: string) => `${consolePath.app(ref)}/fleet`,
  devices: (ref: string, filter: Readonly<Record<string, QueryValue>> = {}) =>
    `${consolePath.fleet(ref)}/devices${queryText(filter)}`,
  device: (ref: string, deviceId: string) =>
    `${consolePath.app(ref)}/devices/${pathSegment(deviceId)}`,
} as const;

/** Returns the path before `/console` in the address of one of its scripts; '' if there is none. */
export function mountOf(script: string): string {
  return /^(.*)\/console\/assets\/[^/]+$/.exec(new URL(script).pathname)?.[1] ?? '';
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
