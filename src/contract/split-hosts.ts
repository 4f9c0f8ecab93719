// Reader of addresses that name several hosts, as PostgreSQL's own library and Redis Sentinel know them:
// `postgres://user:password@h1:5432,h2/name?option=value`.

/**
 * Returns one address for each host, in their order: login, path and options are the same in all of them. An
 * address with one host is returned as it is. Nothing is checked: a part may be no valid address.
 */
export function splitHosts(address: string): readonly string[] {
  const [, scheme, authority, rest] = /^([a-z][\w+.-]*:\/\/)([^/?#]*)(.*)$/is.exec(address) ?? [];
  if (authority === undefined || !authority.includes(',')) return [address];
  const loginLength = authority.lastIndexOf('@') + 1;
  const login = authority.slice(0, loginLength);
  const hosts = authority.slice(loginLength).split(',');
  return hosts.map((host) => `${scheme}${login}${host.trim()}${rest}`);
}
