// IP address of a client, by which devices without an id and sign-ins are limited. No claim of a client is
// trusted: in `X-Forwarded-For`, only entries of the operator's own proxies count (`TRUST_PROXY`).

import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Number of 16-bit groups in a /64. */
const NETWORK_GROUPS = 4;

/**
 * Returns the address to limit a client by: its IPv4 address, or the /64 of its IPv6 address, because one
 * household or machine owns a whole /64. `socketAddress` is the peer's address as text; `forwardedFor` is the
 * header with all of its lines joined by commas, '' when absent; `trustedProxies` is the number of proxies
 * that are trusted.
 *
 * Each proxy appends the address of its own peer. So with n proxies the client is the n-th entry from the
 * right; the client may have forged all entries left of it. With fewer entries than proxies, the leftmost
 * entry is the client. An entry that is no address cannot come from a trusted proxy: then the entry to the
 * right of it, or the peer if there is none, is the client.
 */
export function clientAddress(
  socketAddress: string,
  forwardedFor: string,
  trustedProxies: number,
): string {
  let client = limitedBy(socketAddress) ?? socketAddress;
  let end = forwardedFor.length;
  for (let hop = 0; hop < trustedProxies && end > 0; hop++) {
    const start = forwardedFor.lastIndexOf(',', end - 1) + 1;
    const entry = limitedBy(hostOf(forwardedFor.slice(start, end).trim()));
    if (entry === undefined) return client;
    client = entry;
    end = start - 1;
  }
  return client;
}

/** Returns the address in an entry, without the port that some proxies add: `1.2.3.4:567`, `[::1]:567`. */
function hostOf(entry: string): string {
  if (entry.startsWith('[')) return entry.slice(1, Math.max(1, entry.lastIndexOf(']')));
  const colon = entry.indexOf(':');
  return colon !== -1 && colon === entry.lastIndexOf(':') ? entry.slice(0, colon) : entry;
}

/** Returns an IPv4 address as it is, an IPv6 address as its /64; undefined if the text is no address. */
function limitedBy(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const [withoutZone = ''] = text.split('%', 1);
  const address = ipaddr.IPv6.parse(withoutZone);
  // `::ffff:a.b.c.d` is an IPv4 client of a socket that accepts IPv4 and IPv6.
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  const network = address.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}
