// Form of the addresses of PostgreSQL that a setting may have.

import { parseUrl } from '../contract/parse-url.ts';
import { splitHosts } from '../contract/split-hosts.ts';

const SCHEMES = ['postgres:', 'postgresql:'];

/** Whether the value is an address of PostgreSQL; several hosts stand before the path. */
export function isDatabaseAddress(value: string): boolean {
  const addresses = splitHosts(value);
  return addresses.every((address) => {
    const url = parseUrl(address);
    // An empty host is loopback or a socket; beside others it is a comma too many.
    if (url === undefined || (addresses.length > 1 && url.hostname === '')) return false;
    const isList = ['host', 'port'].some((name) => url.searchParams.get(name)?.includes(','));
    return SCHEMES.includes(url.protocol) && !isList;
  });
}

/** Values of `target_session_attrs` that do not ask for a standby. */
export const WRITABLE_SESSIONS = ['read-write', 'primary', 'any'];

/** Whether the address of PostgreSQL does not ask for a standby. */
export function takesWrites(address: string): boolean {
  const wanted = parseUrl(splitHosts(address)[0] ?? '')?.searchParams.get('target_session_attrs');
  return wanted === undefined || wanted === null || WRITABLE_SESSIONS.includes(wanted);
}
