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
