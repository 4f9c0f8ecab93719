// URLs: parses them, splits those with several hosts, tells which ones a code host can reach, escapes them.

// `parseUrl` replaces `URL.canParse`: once V8 has optimized the caller of that function, Node 20 takes a
// letter such as "ä" in a URL for broken UTF-8, and refuses every URL that has one.

/** Returns the parsed URL; undefined if the text is no URL. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Loopback, private and link-local IP addresses; the URL parser writes IPv4 as four decimal numbers. */
const NEAR_ADDRESS =
  /^(?:0\.|10\.|127\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|\[::(?:1|ffff:[0-9a-f:]+)?\]|\[f[cd]|\[fe[89ab])/i;
/** Suffixes of host names that resolve only within one network. */
const NEAR_NAME =
  /\.(?:local|localhost|localdomain|internal|intranet|lan|home\.arpa|test|invalid)$/i;

/** Returns whether a code host on the internet may reach a URL: its host is a public name or IP address. */
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

/** ASCII characters that RFC 3986 allows in no URL; some clients reject a URL with one of them. */
const NEVER = /["<>\\^`{|}]/g;
const WRITABLE = /^[^\s"<>\\^`{|}\p{Cc}\P{ASCII}]*$/u;

/** Returns the URL in ASCII, with characters that no URL may have percent-encoded; most are unchanged. */
export function wireAddress(url: string): string {
  if (WRITABLE.test(url)) return url;
  return parseUrl(url)?.href.replace(NEVER, encodeURIComponent) ?? url;
}
