// Client networks: an IPv4 address, or the /64 of an IPv6 address, because one household or machine owns a
// whole /64. Check-ins carry a network as two 32-bit words, without an object for each.
//
//   IPv4        0, the address
//   IPv6 /64    the upper and the lower half of the network; no network in use begins with 32 zeros
//   ::/64       0, 1, for the loopback address ::1
//   unknown     0, 0

export type NetworkWords = Int32Array;

export const NETWORK_WORDS = 2;
const IPV6_END = '::/64';
const WIDE_GROUPS = 3;
/** Networks that are not routed on the Internet: a client there is nearby, or is a proxy. */
const PRIVATE = new RegExp(
  [
    String.raw`^(?:10|127)\.`,
    String.raw`^(?:192\.168|169\.254)\.`,
    String.raw`^172\.(?:1[6-9]|2\d|3[01])\.`,
    String.raw`^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.`,
    '^::/64$',
    '^f[cd][0-9a-f]{2}:',
    '^fe[89ab][0-9a-f]:',
  ].join('|'),
);

/**
 * Writes a network into `words`: an IPv4 address (`192.0.2.1`), or the first four groups of an IPv6 address
 * (`2001:db8:0:1::/64`). Any other text is an unknown network.
 */
export function writeNetwork(text: string, words: NetworkWords): void {
  words.fill(0);
  if (text.endsWith(IPV6_END)) {
    const [a = 0, b = 0, c = 0, d = 0] = text
      .slice(0, -IPV6_END.length)
      .split(':')
      .map((group) => Number.parseInt(group, 16));
    words[0] = (a << 16) | b;
    words[1] = (c << 16) | d;
    if (words[0] === 0 && words[1] === 0) words[1] = 1;
    return;
  }
  const bytes = text.split('.').map(Number);
  if (bytes.length !== 4) return;
  words[1] = bytes.reduce((address, byte) => (address << 8) | byte, 0);
}

const [ZERO, NINE, DOT] = [0x30, 0x39, 0x2e];
const BYTE_MAX = 0xff;

/**
 * Writes an IPv4 address, given as the bytes of its text, into `words`; returns false, with undefined
 * contents, for any other text. It makes no strings, because the network of a device that asks once an hour
 * is read at each check.
 */
export function writeIpv4(text: Uint8Array, words: NetworkWords): boolean {
  let address = 0;
  let dots = 0;
  let part = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text[at] as number;
    if (code === DOT && digits > 0) {
      address = (address << 8) | part;
      dots += 1;
      part = 0;
      digits = 0;
    } else if (code >= ZERO && code <= NINE) {
      part = part * 10 + code - ZERO;
      digits += 1;
      if (part > BYTE_MAX) return false;
    } else return false;
  }
  words[0] = 0;
  words[1] = (address << 8) | part;
  return dots === 3 && digits > 0;
}

/** Returns the network at index `at` of `words`; undefined for an unknown one. */
export function readNetwork(words: NetworkWords, at: number): string | undefined {
  const [high, low] = [words[at] ?? 0, words[at + 1] ?? 0];
  if (high !== 0) {
    const groups = [high >>> 16, high & 0xffff, low >>> 16, low & 0xffff];
    return `${groups.map((group) => group.toString(16)).join(':')}${IPV6_END}`;
  }
  if (low === 0) return undefined;
  if (low === 1) return IPV6_END;
  return [low >>> 24, (low >>> 16) & 0xff, (low >>> 8) & 0xff, low & 0xff].join('.');
}

/** Returns the /48 around an IPv6 network, as one customer gets it; undefined for an IPv4 address. */
export function wideNetworkOf(network: string): string | undefined {
  if (!network.endsWith(IPV6_END)) return undefined;
  return `${network.split(':').slice(0, WIDE_GROUPS).join(':')}::/48`;
}

/** Returns whether a network is loopback, private, link-local or carrier-grade NAT. */
export function isPrivateNetwork(network: string): boolean {
  return PRIVATE.test(network);
}
