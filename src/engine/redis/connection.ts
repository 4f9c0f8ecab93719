// The connection that commands run on: one server or a cluster behind one narrow interface.
//
// A command is answered, or it is rejected as unavailable: at once when there is no connection, within the
// time limit when the server is silent. Nothing is queued for a reconnection and nothing is sent twice,
// because a caller that was told "unavailable" has gone on without it.

import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Unavailable } from '../../ports/unavailable.ts';
import { BufferedCommand, type CommandBuffer } from './command-buffer.ts';
import { faultOf } from './fault.ts';
import { quickenStrings } from './quicken-strings.ts';
import type { Script } from './script.ts';
import type { RedisTarget } from './target.ts';

/** One key of a script and the arguments that go with it. */
type ScriptCall = { readonly key: string; readonly args: readonly string[] };

export type RedisConnection = {
  /** Runs a script whose keys lie with `key`. */
  run(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /** The same; whatever is text in the answer comes as its bytes. */
  runForBytes(script: Script, key: string, ...args: string[]): Promise<unknown>;
  /** The same as `run`, with one argument more, which must not change before the answer. */
  runWithBytes(script: Script, key: string, arg: string, bytes: CommandBuffer): Promise<unknown>;
  /** Runs a script that treats any number of keys, each with as many arguments. */
  runAll(script: Script, calls: readonly ScriptCall[]): Promise<void>;
  /** The same for a script that answers with a list, one answer for each key: all of them in order. */
  runEach(script: Script, calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
  readField(key: string, field: string): Promise<string | null>;
  /** The values of keys in their order; null where there is none. */
  readAll(keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** The length of a stream. */
  readLength(key: string): Promise<number>;
  /** Whether every server answers right now; never rejects. */
  isReachable(): Promise<boolean>;
  close(): void;
};

quickenStrings();

const COMMAND_TIMEOUT_MS = 800;
// A server that owes an answer for this long is given up, so that commands fail at once, not one by one.
const SILENCE_TIMEOUT_MS = 1000;
const DISCONNECT_TIMEOUT_MS = 100;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1000;
const SLOTS_REFRESH_INTERVAL_MS = 5000;
// Once because the slot has moved, once because it is moving; the rest is a cluster in disorder.
const REDIRECTIONS_MAX = 4;

/** How long to wait before a connection attempt; `attempt` counts from 1. */
export function retryDelayMs(attempt: number): number {
  return Math.min(RETRY_FIRST_MS * 2 ** (attempt - 1), RETRY_MAX_MS);
}

/** What every connection to Redis is opened with. */
export function connectionOptions({ login }: RedisTarget) {
  return {
    ...login,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxLoadingRetryTime: RETRY_MAX_MS,
    // The driver's own re-subscription fails as an unhandled rejection; `subscription.ts` does it.
    autoResubscribe: false,
    retryStrategy: retryDelayMs,
    // A primary that has become a replica: the name may by now stand for another server.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

/** Connects, and keeps reconnecting until closed; `onFault` hears why it must. */
export function openConnection(
  target: RedisTarget,
  onFault: (error: unknown) => void,
): RedisConnection {
  const client = target.isCluster ? openCluster(target, onFault) : openSingle(target, onFault);

  /** Whatever goes wrong with Redis is the same to the caller: the engine has no answer. */
  async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw new Unavailable('engine', faultOf(error, target));
    }
  }

  return {
    run: (script, key, ...args) => ask(runScript(client, script, [key], args)),
    runForBytes: (script, key, ...args) =>
      ask(byHashFirst(script, (...by) => client.callBuffer(...by, '1', key, ...args))),
    runWithBytes: (script, key, arg, bytes) =>
      ask(byHashFirst(script, (...by) => sendBuffered(client, [...by, '1', key, arg], bytes))),
    runAll: async (script, calls) => void (await ask(runForAll(client, script, calls))),
    runEach: async (script, calls) => (await ask(runForAll(client, script, calls))).flat(),
    readField: (key, field) => ask(client.hget(key, field)),
    readAll: (keys) => ask(readAll(client, keys)),
    readLength: (key) => ask(client.xlen(key)),
    isReachable: async () => {
      // A ping passes before the driver lets other commands through.
      if (client.status !== 'ready') return false;
      const servers = client instanceof Cluster ? client.nodes('master') : [client];
      const answers = await Promise.allSettled(servers.map((server) => server.ping()));
      return answers.length > 0 && answers.every(({ status }) => status === 'fulfilled');
    },
    close: () => client.disconnect(),
  };
}

/**
 * One command on a single server. In a cluster, where one command cannot span slots, one for each key, all
 * under way at once: the time of one round trip, and a key that has just moved holds up no other. The
 * answer of each command, in order.
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

/** As `runForAll`. */
async function readAll(
  client: Redis | Cluster,
  keys: readonly string[],
): Promise<(string | null)[]> {
  if (client instanceof Cluster) return Promise.all(keys.map((key) => client.get(key)));
  return keys.length === 0 ? [] : client.mget([...keys]);
}

function runScript(
  client: Redis | Cluster,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  return byHashFirst(script, (...by) => client.call(...by, String(keys.length), ...keys, ...args));
}

/** A command, and the script that it runs. */
type ScriptCommand = readonly [command: 'evalsha' | 'eval', script: string];

/** By hash first; by text when the server has not seen it, such as one that was restarted empty. */
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
  const redis = new Redis({ ...target.nodes[0], ...connectionOptions(target) });
  redis.on('error', onFault);
  return redis;
}

function openCluster(target: RedisTarget, onFault: (error: unknown) => void): Cluster {
  // A cluster decides by itself when and how to connect to each node.
  const { retryStrategy, enableOfflineQueue, ...redisOptions } = connectionOptions(target);
  const cluster = new Cluster([...target.nodes], {
    redisOptions,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelayMs,
    // 0: a failed command is not sent a second time.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: REDIRECTIONS_MAX,
    slotsRefreshTimeout: COMMAND_TIMEOUT_MS,
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
