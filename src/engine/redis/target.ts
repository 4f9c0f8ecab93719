// Parser of the Redis URL: the servers and the credentials.

import { parseUrl } from '../../contract/parse-url.ts';

export type RedisTarget = {
  /** Whether the nodes form a Redis Cluster: the URL contains a comma, even a trailing one. */
  readonly isCluster: boolean;
  /** Addresses of the servers; at least one. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly login: {
    readonly username?: string;
    readonly password?: string;
    readonly db: number;
    /** Present for `rediss://`; the certificate is checked against the system's authorities. */
    readonly tls?: Record<string, never>;
  };
};

const PORT_DEFAULT = 6379;

/**
 * Parses `redis://` and `rediss://` URLs, or several with commas between them (all but the first may be
 * a bare `host:port`); login and TLS are those of the first. Throws without quoting the URL, which may
 * carry a password.
 */
export function parseTarget(url: string): RedisTarget {
  const parts = url.split(',').filter((part) => part.trim() !== '');
  const urls = parts.map((part) => parseNode(part.trim()));
  const [first] = urls;
  if (first === undefined) throw new Error('The Redis URL is empty');
  return {
    isCluster: url.includes(','),
    nodes: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? PORT_DEFAULT : Number(port),
    })),
    login: {
      ...(first.username !== '' && { username: decodeURIComponent(first.username) }),
      ...(first.password !== '' && { password: decodeURIComponent(first.password) }),
      db: Number(first.pathname.slice(1)),
      ...(first.protocol === 'rediss:' && { tls: {} }),
    },
  };
}

function parseNode(part: string): URL {
  const text = part.includes('://') ? part : `redis://${part}`;
  // The error of `new URL` quotes its input.
  const url = parseUrl(text);
  if (url === undefined) throw new Error('The Redis URL cannot be parsed');
  if (!/^rediss?:$/.test(url.protocol) || url.hostname === '' || !/^\/?\d*$/.test(url.pathname)) {
    throw new Error('The Redis URL must be redis[s]://[user:password@]host[:port][/database]');
  }
  return url;
}
