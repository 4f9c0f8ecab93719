// Parser of the Redis URL: servers and credentials.

import { parseUrl, splitHosts } from '../../contract/address.ts';

type RedisNode = { readonly host: string; readonly port: number };

/** Credentials, both optional in Redis. */
type Login = { readonly username?: string; readonly password?: string };

export type RedisTarget = {
  /** Whether the nodes form a Redis Cluster: the URL contains a comma, even a trailing one. */
  readonly isCluster: boolean;
  /** Addresses of the servers, at least one; of the Sentinels if `sentinel` is set. */
  readonly nodes: readonly RedisNode[];
  /** Name of the primary and login for the Sentinels; undefined when the nodes are the servers. */
  readonly sentinel: { readonly name: string; readonly login: Login } | undefined;
  readonly login: Login & {
    readonly db: number;
    /** Present for `rediss`; checks certificates against the system's authorities. */
    readonly tls?: Record<string, never>;
  };
  /** Longest wait for the answer to a command in milliseconds; default: 800. */
  readonly answerMsMax?: number | undefined;
};

const PORT_DEFAULT = 6379;
const SENTINEL_PORT_DEFAULT = 26_379;
const SENTINEL_SCHEME = /^rediss?\+sentinel:/i;

/**
 * Parses `redis://` and `rediss://` URLs, several of them separated by commas (all but the first may be bare
 * `host:port`), and `redis+sentinel://h1,h2/name`; login and TLS are those of the first. Throws without
 * quoting the URL, which may contain a password.
 */
export function parseTarget(url: string): RedisTarget {
  return SENTINEL_SCHEME.test(url) ? parseSentinels(url) : parseServers(url);
}

function parseServers(url: string): RedisTarget {
  const parts = url.split(',').filter((part) => part.trim() !== '');
  const urls = parts.map((part) => parseNode(part.trim()));
  const [first] = urls;
  if (first === undefined) throw new Error('The Redis URL is empty');
  return {
    isCluster: url.includes(','),
    nodes: urls.map((each) => nodeOf(each, PORT_DEFAULT)),
    sentinel: undefined,
    login: {
      ...loginOf(first.username, first.password),
      db: Number(first.pathname.slice(1)),
      ...(first.protocol === 'rediss:' && { tls: {} }),
    },
  };
}

function parseSentinels(url: string): RedisTarget {
  const urls = splitHosts(url).map(parseUrl);
  const [first] = urls;
  const [, name, db = '0'] = /^\/([\w.-]+)(?:\/(\d+))?$/.exec(first?.pathname ?? '') ?? [];
  const nodes = urls.flatMap((each) =>
    each === undefined || each.hostname === '' ? [] : [nodeOf(each, SENTINEL_PORT_DEFAULT)],
  );
  if (first === undefined || name === undefined || nodes.length < urls.length) {
    throw new Error(
      'The Redis URL of Sentinels must be ' +
        'redis[s]+sentinel://[user:password@]host[:port],…/name[/database]',
    );
  }
  const { searchParams: options } = first;
  const [username, password] = ['sentinel_username', 'sentinel_password'].map(
    (option) => options.get(option) ?? '',
  );
  return {
    isCluster: false,
    nodes,
    sentinel: { name, login: { ...(username && { username }), ...(password && { password }) } },
    login: {
      ...loginOf(first.username, first.password),
      db: Number(db),
      ...(first.protocol === 'rediss+sentinel:' && { tls: {} }),
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

function nodeOf({ hostname, port }: URL, portDefault: number): RedisNode {
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? portDefault : Number(port),
  };
}

/** Decodes the credentials of a URL. */
function loginOf(username: string, password: string): Login {
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}
