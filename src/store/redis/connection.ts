// The connection that commands run on: one server or a cluster behind one narrow interface.
//
// A command is answered, or it is rejected as unavailable: at once when there is no connection, within the
// time limit when the server is silent. Nothing is queued for a reconnection and nothing is sent twice,
// because a caller that was told "unavailable" has gone on without it.

import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Unavailable } from '../../contract/unavailable.ts';
import { type BackOff, backOffMs } from '../../flow/back-off.ts';
import {
  BufferedCommand,
  type CommandBuffer,
  restoreStringSpeed,
  type Script,
} from './commands.ts';
import type { RedisTarget } from './target.ts';

/** One key of a script and the arguments that go with it. */
type ScriptCall = { readonly key: string; readonly args: readonly string[] };

export type RedisConnection = {
  /**
   * Object that is another one after each connection, behind which there may be another server; undefined
   * before the first.
   */
  readonly session: object | undefined;
  /** Runs a script whose keys lie with `key`. */
  run(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /** Runs a script like `run`; strings in the reply are returned as buffers. */
  runForBytes(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /**
   * Runs a script like `run` with a large last argument in a buffer, which must not change before the reply.
   */
  runWithBytes(
    script: Script,
    key: string,
    args: readonly string[],
    bytes: CommandBuffer,
  ): Promise<unknown>;
  /** Runs a script that takes any number of keys, with the same number of arguments for each key. */
  runAll(script: Script, calls: readonly ScriptCall[]): Promise<void>;
  /**
   * Runs a script like `runAll` that replies with one value per key; returns the values in the order of the
   * calls.
   */
  runEach(script: Script, calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
  readField(key: string, field: string): Promise<string | null>;
  /** Reads fields of a hash, in their order; null for a field that does not exist. */
  readFields(key: string, fields: readonly string[]): Promise<readonly (string | null)[]>;
  /** Writes fields of a hash: name, value, name, value… */
  writeFields(key: string, namesAndValues: readonly string[]): Promise<void>;
  /** Reads the length of a stream. */
  readLength(key: string): Promise<number>;
  /** Reads what each server tells of itself: the text of `INFO`. */
  describeServers(): Promise<readonly string[]>;
  /** Returns whether every server answers a ping now; never rejects. */
  isReachable(): Promise<boolean>;
  close(): void;
};

restoreStringSpeed();

const SLOTS_REFRESH_INTERVAL_MS = 5000;
// One redirection because a slot has moved, one because it is moving; two more for a cluster that is being
// repaired.
const REDIRECTIONS_MAX = 4;

/** Connects, and reconnects until closed; `onFault` is called with the cause of each failure. */
export function openConnection(
  target: RedisTarget,
  onFault: (error: unknown) => void,
): RedisConnection {
  let client = target.isCluster ? openCluster(target, onFault) : openSingle(target, onFault);
  /** Whether the one server of the address has said whether it belongs to a cluster. */
  let isKnown = client instanceof Cluster || target.sentinel !== undefined;
  let isClosed = false;
  let session: object | undefined;

  watch(client);
  if (!isKnown) client.on('ready', () => void learn());

  /** Notes each connection of a client, before anything is sent on it. */
  function watch(watched: Redis | Cluster): void {
    watched.on('ready', () => {
      session = {};
    });
  }

  /** Asks the one server, and turns to the whole cluster when it belongs to one. */
  async function learn(): Promise<void> {
    const server = client;
    const answer: unknown = await server.info('cluster').catch((error: unknown) => error);
    // A server that refuses to tell is used as it is; one that is silent is asked again.
    const isSilent = answer instanceof Error && answer.name !== 'ReplyError';
    if (isSilent || isKnown || isClosed) return;
    isKnown = true;
    if (!/^cluster_enabled:1\b/m.test(String(answer))) return;
    client = openCluster(target, onFault);
    watch(client);
    server.disconnect();
  }

  function servers(): readonly Redis[] {
    return client instanceof Cluster ? client.nodes('master') : [client];
  }

  /** Turns every failure of Redis into `Unavailable`: to callers, the engine did not answer. */
  async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw new Unavailable('engine', faultOf(error, target));
    }
  }

  return {
    get session() {
      return session;
    },
    run: (script, key, ...args) => ask(runScript(client, script, [key], args)),
    runForBytes: (script, key, ...args) =>
      ask(byHashFirst(script, (...by) => client.callBuffer(...by, '1', key, ...args))),
    runWithBytes: (script, key, args, bytes) =>
      ask(byHashFirst(script, (...by) => sendBuffered(client, [...by, '1', key, ...args], bytes))),
    runAll: async (script, calls) => void (await ask(runForAll(client, script, calls))),
    runEach: async (script, calls) => (await ask(runForAll(client, script, calls))).flat(),
    readField: (key, field) => ask(client.hget(key, field)),
    readFields: (key, fields) => ask(client.hmget(key, ...fields)),
    writeFields: async (key, namesAndValues) =>
      void (await ask(client.hset(key, ...namesAndValues))),
    readLength: (key) => ask(client.xlen(key)),
    describeServers: () => ask(Promise.all(servers().map((server) => server.info()))),
    isReachable: async () => {
      if (!isKnown) await learn();
      // Checked first, because the driver answers pings before it accepts other commands.
      if (client.status !== 'ready' || !isKnown) return false;
      const answers = await Promise.allSettled(servers().map((server) => server.ping()));
      return answers.length > 0 && answers.every(({ status }) => status === 'fulfilled');
    },
    close: () => {
      isClosed = true;
      client.disconnect();
    },
  };
}

/**
 * Runs a script for many keys: as one command on a single server; in a cluster, where one command cannot span
 * slots, as one command per key, all in flight at once, which takes one round trip and does not let a moved
 * key delay the others. Returns the reply of each command, in order.
 */
async function runForAll(
  client: Redis | Cluster,
  script: Script,
  calls: readonly ScriptCall[],
): Promise<unknown[]> {
  if (client instanceof Cluster) {
    return Promise.all(calls.map(({ key, args }) => runScript(client, script, [key], args)));
  }
  if (calls.length === 0) return [];
  const keys = calls.map(({ key }) => key);
  const args = calls.flatMap((call) => call.args);
  return [await runScript(client, script, keys, args)];
}

function runScript(
  client: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  return byHashFirst(script, (...by) => client.call(...by, String(keys.length), ...keys, ...args));
}

/** Redis command that runs a script, with the script's hash or text. */
type ScriptCommand = readonly [command: 'evalsha' | 'eval', script: string];

/**
 * Runs a script by its hash, and by its text when the server does not know the hash, such as after a restart.
 */
async function byHashFirst(
  { lua, sha1 }: Script,
  call: (...by: ScriptCommand) => Promise<unknown>,
): Promise<unknown> {
  try {
    return await call('evalsha', sha1);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return call('eval', lua);
  }
}

async function sendBuffered(
  client: Redis | Cluster,
  [name, ...args]: readonly [string, ...string[]],
  bytes: CommandBuffer,
): Promise<unknown> {
  return client.sendCommand(new BufferedCommand(name, args, bytes));
}

function openSingle(target: RedisTarget, onFault: (error: unknown) => void): Redis {
  const redis = new Redis(connectionOptions(target));
  redis.on('error', onFault);
  redis.on('sentinelError', onFault);
  return redis;
}

function openCluster(target: RedisTarget, onFault: (error: unknown) => void): Cluster {
  // A cluster decides by itself when and how to connect to each node.
  const { retryStrategy, enableOfflineQueue, ...redisOptions } = optionsOfNode(target);
  const cluster = new Cluster([...target.nodes], {
    redisOptions,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelayMs,
    // 0: a failed command is not sent a second time.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: REDIRECTIONS_MAX,
    slotsRefreshTimeout: redisOptions.commandTimeout,
    slotsRefreshInterval: SLOTS_REFRESH_INTERVAL_MS,
    // With TLS the name must reach the certificate check unresolved.
    ...(target.login.tls && { dnsLookup: (name, done) => done(null, name) }),
  });
  cluster.on('error', onFault);
  cluster.on('node error', onFault);
  connectEagerly(cluster);
  return cluster;
}

/**
 * The driver connects to a node with the first command for it, and refuses all others until that
 * connection stands; so every node is connected as soon as it is known.
 */
function connectEagerly(cluster: Cluster): void {
  const connect = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('ready', () => {
    for (const node of cluster.nodes()) connect(node);
  });
  // Later, so that the command which made the node known is not among those refused.
  cluster.on('+node', (node: Redis) => {
    setImmediate(() => {
      if (cluster.status === 'ready') connect(node);
    });
  });
}

// Connection to a Redis that may get another address while it is used, such as one with another password. The
// new connection is used once it answers; the old one is closed when what was sent on it has been answered.

export type MovableConnection = RedisConnection & {
  /** Resolves when the new address is used: once it answers, or after a moment without an answer. */
  moveTo(target: RedisTarget): Promise<void>;
};

/** Longest wait for the new address to answer; after that it is used all the same, and tried for ever. */
const READY_MS_MAX = 2000;
const READY_INTERVAL_MS = 20;
/** Longer than a command waits for its answer. */
const LAST_ANSWERS_MS = 1000;

/** Connects, and reconnects until closed; `onFault` is called with the cause of each failure. */
export function openMovableConnection(
  first: RedisTarget,
  onFault: (error: unknown) => void,
): MovableConnection {
  let present = openConnection(first, onFault);
  /** Connections beside the present one: a new one without an answer, old ones with their last calls. */
  const others = new Set<RedisConnection>();
  let isClosed = false;

  const closeOther = (connection: RedisConnection): void => {
    others.delete(connection);
    connection.close();
  };

  return {
    get session() {
      return present.session;
    },
    run: (...args) => present.run(...args),
    runForBytes: (...args) => present.runForBytes(...args),
    runWithBytes: (...args) => present.runWithBytes(...args),
    runAll: (...args) => present.runAll(...args),
    runEach: (...args) => present.runEach(...args),
    readField: (...args) => present.readField(...args),
    readFields: (...args) => present.readFields(...args),
    writeFields: (...args) => present.writeFields(...args),
    readLength: (...args) => present.readLength(...args),
    describeServers: () => present.describeServers(),
    isReachable: () => present.isReachable(),
    async moveTo(target) {
      if (isClosed) return;
      const next = openConnection(target, onFault);
      others.add(next);
      const end = performance.now() + READY_MS_MAX;
      while (!isClosed && performance.now() < end && !(await next.isReachable())) {
        await sleep(READY_INTERVAL_MS, undefined, { ref: false });
      }
      if (isClosed) return;
      const former = present;
      present = next;
      others.delete(next);
      others.add(former);
      setTimeout(() => closeOther(former), LAST_ANSWERS_MS).unref();
    },
    close() {
      isClosed = true;
      present.close();
      for (const each of others) closeOther(each);
    },
  };
}

// Options of every connection to Redis: time limits, credentials, and the server.

/** Longest wait for the answer to a command, and for a connection. */
const COMMAND_TIMEOUT_MS = 800;
// A connection without an answer for this long is dropped, so that further commands fail at once rather than
// time out one by one.
const SILENCE_TIMEOUT_MS = 1000;
const DISCONNECT_TIMEOUT_MS = 100;
const RETRY: BackOff = { minMs: 50, maxMs: 1000 };

/**
 * Options of a connection to one of the nodes, the next one with each `attempt` from 0; or to the primary
 * that the Sentinels name.
 */
export function connectionOptions(target: RedisTarget, attempt = 0) {
  const { nodes, sentinel, login } = target;
  if (sentinel === undefined) return { ...optionsOfNode(target), ...nodes[attempt % nodes.length] };
  const { username, password } = sentinel.login;
  return {
    ...optionsOfNode(target),
    // A Sentinel that answered comes first in the driver's own list.
    sentinels: [...nodes],
    name: sentinel.name,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelayMs,
    ...(login.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
  };
}

/** Options without an address. */
function optionsOfNode({ login }: RedisTarget) {
  return {
    ...login,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxLoadingRetryTime: RETRY.maxMs,
    // The driver's own re-subscription fails as an unhandled rejection; `subscription.ts` does it.
    autoResubscribe: false,
    retryStrategy: retryDelayMs,
    // The primary has become a replica: its name may meanwhile resolve to another server.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

/** Milliseconds to wait before a connection attempt; `attempt` counts from 1. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(RETRY, attempt);
}

// What may be told about a driver's error. Its own object is not fit for a log: it carries the failed
// command with all arguments, among them the password of a login and the body of a snapshot.

/** The error's message and code, with the passwords blotted out wherever a server echoed them. */
export function faultOf(error: unknown, { login, sentinel }: RedisTarget): Error {
  let message = error instanceof Error ? error.message : String(error);
  for (const password of [login.password, sentinel?.login.password]) {
    if (password !== undefined) message = message.replaceAll(password, '***');
  }
  const told = new Error(message);
  return Object.assign(told, error instanceof Error && 'code' in error && { code: error.code });
}
