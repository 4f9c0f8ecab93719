// The connection for commands: one server or a cluster behind one narrow interface.
//
// Redis answers a command, or the call rejects as unavailable: at once without a connection, or within the
// time limit when the server is silent. No command waits for a reconnection or is sent twice, because the
// caller has gone on after the rejection.

import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Unavailable } from '../../contract/store-fault.ts';
import { type BackOff, backOffMs } from '../../flow/pause.ts';
import { BufferedCommand, CommandBuffer, restoreStringSpeed, type Script } from './commands.ts';
import type { RedisTarget } from './target.ts';

/** One key of a script and its arguments. */
type ScriptCall = { readonly key: string; readonly args: readonly string[] };

/** Keys of a script, and one packed argument per command for all keys of that command. */
export type PackedCalls = {
  readonly keys: readonly string[];
  /** Returns the arguments before the packed one, for the keys from index `from` to `to` (exclusive). */
  readonly argsOf: (from: number, to: number) => readonly string[];
  /** Writes the part for the key at this index into the packed argument. */
  readonly write: (index: number, packed: CommandBuffer) => void;
};

export type RedisConnection = {
  /**
   * Mark of the present connection: another object after each reconnection, which may lead to another server;
   * undefined before the first.
   */
  readonly session: object | undefined;
  /** Runs a script whose keys all lie on the node of `key`. */
  run(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /** Runs a script like `run`; strings in the reply are buffers. */
  runForBytes(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /** Runs a script like `run` with a last argument in a buffer, which must not change before the reply. */
  runWithBytes(
    script: Script,
    key: string,
    args: readonly string[],
    bytes: CommandBuffer,
  ): Promise<unknown>;
  /** Runs a script for any number of keys, with the same number of arguments for each key. */
  runAll(script: Script, calls: readonly ScriptCall[]): Promise<void>;
  /** Runs a script like `runAll`; returns one value per key, in the order of the calls. */
  runEach(script: Script, calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
  /** Runs a script like `runEach`, with one packed argument: every argument of a command costs time. */
  runPacked(script: Script, calls: PackedCalls): Promise<readonly unknown[]>;
  readField(key: string, field: string): Promise<string | null>;
  /** Reads fields of a hash, in order; null for a missing field. */
  readFields(key: string, fields: readonly string[]): Promise<readonly (string | null)[]>;
  /** Writes fields of a hash: name, value, name, value… */
  writeFields(key: string, namesAndValues: readonly string[]): Promise<void>;
  /** Reads the `INFO` text of each server. */
  describeServers(): Promise<readonly string[]>;
  /** Returns whether every server answers a ping now. Never rejects. */
  isReachable(): Promise<boolean>;
  close(): void;
};

restoreStringSpeed();

const SLOTS_REFRESH_INTERVAL_MS = 5000;
// One redirection for a slot that has moved, one for a slot that is moving, two more during a repair.
const REDIRECTIONS_MAX = 4;

/** Connects, and reconnects until closed. Calls `onFault` with the cause of each failure. */
export function openConnection(
  target: RedisTarget,
  onFault: (error: unknown) => void,
): RedisConnection {
  let client = target.isCluster ? openCluster(target, onFault) : openSingle(target, onFault);
  /** Whether the server has said if it belongs to a cluster. */
  let isKnown = client instanceof Cluster || target.sentinel !== undefined;
  let isClosed = false;
  let session: object | undefined;
  /** Why the connection is lost; undefined while it stands. */
  let lostFor: unknown;

  watch(client);
  if (!isKnown) client.on('ready', () => void learn());

  /** Replaces the session on each connection of a client, before any command uses it. */
  function watch(watched: Redis | Cluster): void {
    watched.on('ready', () => {
      session = {};
      lostFor = undefined;
    });
    watched.on('error', (error: unknown) => {
      lostFor = error;
    });
  }

  /** Asks the server whether it belongs to a cluster; if so, connects to the whole cluster instead. */
  async function learn(): Promise<void> {
    const server = client;
    const answer: unknown = await server.info('cluster').catch((error: unknown) => error);
    // A server that refuses INFO is used as it is; a silent one is asked again.
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

  /** Turns every failure of Redis into `Unavailable`. */
  async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      // Without a connection, the driver's own error says nothing of the reason.
      const isLost = client.status !== 'ready' && lostFor !== undefined;
      throw new Unavailable('engine', faultOf(isLost ? lostFor : error, target));
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
    runPacked: async (script, calls) => (await ask(runForAllPacked(client, script, calls))).flat(),
    readField: (key, field) => ask(client.hget(key, field)),
    readFields: (key, fields) => ask(client.hmget(key, ...fields)),
    writeFields: async (key, namesAndValues) =>
      void (await ask(client.hset(key, ...namesAndValues))),
    describeServers: () => ask(Promise.all(servers().map((server) => server.info()))),
    isReachable: async () => {
      if (!isKnown) await learn();
      // The driver answers pings before it accepts other commands.
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
 * Runs a script for many keys and returns the replies in order: one command on a single server; in a cluster,
 * where a command cannot span slots, one command per key, all in flight at once.
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

/** Runs a script like `runForAll`, with one packed argument per command. */
async function runForAllPacked(
  client: Redis | Cluster,
  script: Script,
  calls: PackedCalls,
): Promise<unknown[]> {
  const { keys } = calls;
  if (client instanceof Cluster) {
    return Promise.all(keys.map((_, at) => runPackedOnce(client, script, calls, at, at + 1)));
  }
  if (keys.length === 0) return [];
  return [await runPackedOnce(client, script, calls, 0, keys.length)];
}

/** Runs a script once, for the keys from index `from` to `to` (exclusive). */
async function runPackedOnce(
  client: Redis | Cluster,
  script: Script,
  { keys, argsOf, write }: PackedCalls,
  from: number,
  to: number,
): Promise<unknown> {
  const packed = new CommandBuffer();
  packed.begin();
  for (let index = from; index < to; index++) write(index, packed);
  const args = [String(to - from), ...keys.slice(from, to), ...argsOf(from, to)];
  return byHashFirst(script, (...by) => sendBuffered(client, [...by, ...args], packed));
}

function runScript(
  client: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  return byHashFirst(script, (...by) => client.call(...by, String(keys.length), ...keys, ...args));
}

/** Command that runs a script by its hash or its text. */
type ScriptCommand = readonly [command: 'evalsha' | 'eval', script: string];

/** Runs a script by its hash, or by its text if the server does not know it, such as after a restart. */
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
  // The cluster client itself decides when and how it connects to each node.
  const { retryStrategy, enableOfflineQueue, ...redisOptions } = optionsOfNode(target);
  const cluster = new Cluster([...target.nodes], {
    redisOptions,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelayMs,
    // 0: the driver does not repeat a failed command.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: REDIRECTIONS_MAX,
    slotsRefreshTimeout: redisOptions.commandTimeout,
    slotsRefreshInterval: SLOTS_REFRESH_INTERVAL_MS,
    // With TLS, the certificate check needs the name, not its address.
    ...(target.login.tls && { dnsLookup: (name, done) => done(null, name) }),
  });
  cluster.on('error', onFault);
  cluster.on('node error', onFault);
  connectEagerly(cluster);
  return cluster;
}

/**
 * Connects to every known node at once. The driver would connect with the first command for a node, and
 * reject others until that connection stands.
 */
function connectEagerly(cluster: Cluster): void {
  const connect = (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('ready', () => {
    for (const node of cluster.nodes()) connect(node);
  });
  // Delayed, so that the command that revealed the node is not rejected.
  cluster.on('+node', (node: Redis) => {
    setImmediate(() => {
      if (cluster.status === 'ready') connect(node);
    });
  });
}

// Connection to a Redis whose address may change at run time, such as for a new password. The new connection
// is used once it answers; the old one is closed when its last commands have been answered.

export type MovableConnection = RedisConnection & {
  /** Resolves when the new address is used: once it answers, or after 2 s without an answer. */
  moveTo(target: RedisTarget): Promise<void>;
};

/** Longest wait for an answer of the new address; after it, the address is used and retried for ever. */
const READY_MS_MAX = 2000;
const READY_INTERVAL_MS = 20;
/** Time for the last answers of the old connection; longer than the command timeout. */
const LAST_ANSWERS_MS = 1000;

/** Connects, and reconnects until closed. Calls `onFault` with the cause of each failure. */
export function openMovableConnection(
  first: RedisTarget,
  onFault: (error: unknown) => void,
): MovableConnection {
  let present = openConnection(first, onFault);
  /** Other connections: a new one without an answer yet, and old ones with calls in flight. */
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
    runPacked: (...args) => present.runPacked(...args),
    readField: (...args) => present.readField(...args),
    readFields: (...args) => present.readFields(...args),
    writeFields: (...args) => present.writeFields(...args),
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

/** Longest wait for the answer to a command, and for a connection. */
const COMMAND_TIMEOUT_MS = 800;
// This long after a command timed out without any answer, the connection is dropped, so that further commands
// fail at once instead of timing out one by one.
const SILENCE_MS = 200;
const DISCONNECT_TIMEOUT_MS = 100;
const RETRY: BackOff = { minMs: 50, maxMs: 1000 };

/** Options of a connection to a node (the next with each `attempt`), or to the Sentinels' primary. */
export function connectionOptions(target: RedisTarget, attempt = 0) {
  const { nodes, sentinel, login } = target;
  if (sentinel === undefined) return { ...optionsOfNode(target), ...nodes[attempt % nodes.length] };
  const { username, password } = sentinel.login;
  return {
    ...optionsOfNode(target),
    // The driver moves a Sentinel that answered to the front.
    sentinels: [...nodes],
    name: sentinel.name,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelayMs,
    ...(login.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
  };
}

function optionsOfNode({ login, answerMsMax = COMMAND_TIMEOUT_MS }: RedisTarget) {
  return {
    ...login,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: answerMsMax,
    connectTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: answerMsMax + SILENCE_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxLoadingRetryTime: RETRY.maxMs,
    // The driver's own re-subscription fails as an unhandled rejection; `subscriptions.ts` re-subscribes.
    autoResubscribe: false,
    retryStrategy: retryDelayMs,
    // This server was the primary and is a replica now; the name may resolve to another server by now.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

/** Returns the milliseconds before a connection attempt; `attempt` counts from 1. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(RETRY, attempt);
}

/**
 * Returns a driver's error for the log: message and code only, with passwords removed. The driver's own
 * object contains the failed command with its arguments, such as a password or a snapshot.
 */
export function faultOf(error: unknown, { login, sentinel }: RedisTarget): Error {
  let message = error instanceof Error ? error.message : String(error);
  for (const password of [login.password, sentinel?.login.password]) {
    if (password !== undefined) message = message.replaceAll(password, '***');
  }
  const told = new Error(message);
  return Object.assign(told, error instanceof Error && 'code' in error && { code: error.code });
}
