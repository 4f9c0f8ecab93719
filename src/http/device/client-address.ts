// The address that a device without an id is limited by. What a client says about itself is never believed:
// of `X-Forwarded-For` only the entries count that the operator's own proxies have added (`TRUST_PROXY`).

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const IPV6_LENGTH_MAX = 45;
const IPV6_CHARS = /^[0-9a-f:.]+$/i;
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * What to limit a client by: its IPv4 address, or the /64 of its IPv6 address, of which one household or
 * machine has all. `socketAddress` is the peer's, as text; `forwardedFor` the header, all of its lines with
 * commas between them, '' when absent;
 * `trustedProxies` how many proxies to believe.
 *
 * Each proxy appends the address of its own peer, so with n proxies the client is the n-th entry from the
 * right, and what stands left of it anybody may have written. With fewer entries than proxies the leftmost is
 * the furthest that a proxy vouches for. An entry that is no address was not written by a proxy one can
 * believe: then the hop before it is the client.
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

/** Without the port that some proxies add: `1.2.3.4:567`, `[::1]:567`. */
function hostOf(entry: string): string {
  if (entry.startsWith('[')) return entry.slice(1, Math.max(1, entry.lastIndexOf(']')));
  const colon = entry.indexOf(':');
  return colon !== -1 && colon === entry.lastIndexOf(':') ? entry.slice(0, colon) : entry;
}

/** The address in its one form, an IPv6 address as its /64; undefined when it is none. */
function limitedBy(address: string): string | undefined {
  if (IPV4.test(address)) return address.split('.').map(Number).join('.');
  const [bare = ''] = address.split('%');
  const groups = parseIpv6(bare);
  if (groups === undefined) return undefined;
  if (isMapped(groups)) return ipv4Of(groups);
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight numbers of an IPv6 address, in any of its forms. */
function parseIpv6(address: string): number[] | undefined {
  if (address.length > IPV6_LENGTH_MAX || !IPV6_CHARS.test(address)) return undefined;
  const sides = address.split('::');
  if (sides.length > 2) return undefined;
  const [left, right] = sides.map((side, index) => {
    return side === '' ? [] : groupsOf(side, index === sides.length - 1);
  });
  if (left === undefined) return undefined;
  if (sides.length === 1) return left.length === GROUPS ? left : undefined;
  if (right === undefined || left.length + right.length >= GROUPS) return undefined;
  return [...left, ...new Array(GROUPS - left.length - right.length).fill(0), ...right];
}

function groupsOf(side: string, isLast: boolean): number[] | undefined {
  const parts = side.split(':');
  const last = parts.at(-1) ?? '';
  if (isLast && IPV4.test(last)) {
    const [a = 0, b = 0, c = 0, d = 0] = last.split('.').map(Number);
    parts.splice(-1, 1, ((a << 8) | b).toString(16), ((c << 8) | d).toString(16));
  }
  return parts.every((part) => /^[0-9a-f]{1,4}$/i.test(part))
    ? parts.map((part) => Number.parseInt(part, 16))
    : undefined;
}

/** `::ffff:a.b.c.d`: an IPv4 client on a socket for both. */
function isMapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function ipv4Of(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}
