// Forms of addresses in settings: of the service itself, of its stores, and of others over HTTP.

import { parseUrl, splitHosts } from '../contract/address.ts';

export const HTTP_SCHEMES = ['http:', 'https:'];
export const PORT_MAX = 65_535;
const REDIS_SCHEMES = ['redis:', 'rediss:'];
const SENTINEL_SCHEMES = ['redis+sentinel:', 'rediss+sentinel:'];

/** Parses `host:port`, with an IPv6 address in brackets; returns undefined for anything else. */
export function parseListenAddress(
  value: string,
): { readonly host: string; readonly port: number } | undefined {
  const [, inBrackets, name, digits] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = inBrackets ?? name;
  const port = Number(digits);
  return host === undefined || port > PORT_MAX ? undefined : Object.freeze({ host, port });
}

/** Returns whether only this machine can reach what listens on the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Returns whether the value is a URL of Redis or Sentinels, or a cluster's list (URL, host:port, …). */
export function isRedisAddress(value: string): boolean {
  if (splitHosts(value).every((address) => isUrl(address, SENTINEL_SCHEMES))) return true;
  const parts = value.split(',').map((part) => part.trim());
  const [first = '', ...others] = parts.filter((part) => part !== '');
  const urls = others.map((part) => (part.includes('://') ? part : `redis://${part}`));
  return [first, ...urls].every((url) => isUrl(url, REDIS_SCHEMES));
}

/** Returns whether the value is a URL of one of these schemes. */
export function isUrl(value: string, schemes: readonly string[]): boolean {
  return schemes.includes(parseUrl(value)?.protocol ?? '');
}

const SCHEMES = ['postgres:', 'postgresql:'];

/** Returns whether the value is a URL of PostgreSQL, possibly with several hosts. */
export function isDatabaseAddress(value: string): boolean {
  const addresses = splitHosts(value);
  return addresses.every((address) => {
    const url = parseUrl(address);
    // An empty host means loopback or a socket; in a list it comes from an extra comma.
    if (url === undefined || (addresses.length > 1 && url.hostname === '')) return false;
    const isList = ['host', 'port'].some((name) => url.searchParams.get(name)?.includes(','));
    return SCHEMES.includes(url.protocol) && !isList;
  });
}

/** Values of `target_session_attrs` that do not ask for a standby. */
export const WRITABLE_SESSIONS = ['read-write', 'primary', 'any'];

/** Returns whether the URL of PostgreSQL does not ask for a standby. */
export function takesWrites(address: string): boolean {
  const wanted = parseUrl(splitHosts(address)[0] ?? '')?.searchParams.get('target_session_attrs');
  return wanted === undefined || wanted === null || WRITABLE_SESSIONS.includes(wanted);
}
