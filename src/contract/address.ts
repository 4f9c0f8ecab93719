// Addresses: how they are parsed and split into hosts, and what others can reach or take.

// Parses URLs in place of `URL.canParse`: once V8 has optimized its caller, Node 20 takes a letter such as
// "ä" in a URL for broken UTF-8, and refuses every URL that has one.

/** Returns the parsed URL; undefined if the text is none. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Addresses of this machine, of private networks and of links; a URL has IPv4 in four numbers. */
const NEAR_ADDRESS =
  /^(?:0\.|10\.|127\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|\[::(?:1|ffff:[0-9a-f:]+)?\]|\[f[cd]|\[fe[89ab])/i;
/** Ends of names that are known within one network alone. */
const NEAR_NAME =
  /\.(?:local|localhost|localdomain|internal|intranet|lan|home\.arpa|test|invalid)$/i;

/** Whether a code host on the internet may reach an address: its name is one of the public DNS. */
export function isReachableAddress(url: string): boolean {
  const host = parseUrl(url)?.hostname.replace(/\.$/, '');
  if (host === undefined) return false;
  if (host.startsWith('[') || /^[\d.]+$/.test(host)) return !NEAR_ADDRESS.test(host);
  return host.includes('.') && !NEAR_NAME.test(host);
}

// Splits URLs with several hosts, as libpq and Redis Sentinel accept them:
// `postgres://user:password@h1:5432,h2/name?option=value`.

/**
 * Returns one URL per host, in order, each with the same login, path and options. A URL with one host is
 * returned unchanged. The parts are not validated.
 */
export function splitHosts(address: string): readonly string[] {
  const [, scheme, authority, rest] = /^([a-z][\w+.-]*:\/\/)([^/?#]*)(.*)$/is.exec(address) ?? [];
  if (authority === undefined || !authority.includes(',')) return [address];
  const loginLength = authority.lastIndexOf('@') + 1;
  const login = authority.slice(0, loginLength);
  const hosts = authority.slice(loginLength).split(',');
  return hosts.map((host) => `${scheme}${login}${host.trim()}${rest}`);
}

/** What RFC 3986 has in no address; some clients take such an address for none. */
const NEVER = /["<>\\^`{|}]/g;
const WRITABLE = /^[^\s"<>\\^`{|}\p{Cc}\P{ASCII}]*$/u;

/** Returns the address in ASCII, with what no address may have percent-encoded; most stay as they are. */
export function wireAddress(url: string): string {
  if (WRITABLE.test(url)) return url;
  return parseUrl(url)?.href.replace(NEVER, encodeURIComponent) ?? url;
}
