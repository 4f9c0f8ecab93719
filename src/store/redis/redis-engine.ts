// The engine on Redis, which several nodes share. Implements `Engine`.

import { LIMIT } from '../../contract/limit.ts';
import type { OfAnotherRecord } from '../../contract/store-fault.ts';
import type { DeviceDebt } from '../../domain/fleet/shared-window.ts';
import type { DeviceRates, Engine, RateDecision } from '../engine.ts';
import { SCRIPTS } from './commands.ts';
import { faultOf, openMovableConnection, type RedisConnection } from './connection.ts';
import { createKeys, type Keys } from './keys.ts';
import { guardConnection, type KnowsSome, RecordGuard } from './record-guard.ts';
import { createRedisActions } from './redis-actions.ts';
import { CHECK_IN_STREAMS, createRedisCheckIns } from './redis-check-ins.ts';
import { createRedisLabels, packLabelNotifications } from './redis-labels.ts';
import { createRedisChannelNames, createRedisSnapshots, readShared } from './redis-snapshots.ts';
import { type RemovedKey, repairingConnection } from './repairing-connection.ts';
import { createSubscriptions } from './subscriptions.ts';
import { parseTarget } from './target.ts';

/** Default limit of the check-in queue in Redis' memory: 1 GiB. */
const CHECK_IN_BYTES_MAX = 2 ** 30;

/** Engine whose Redis address may change at run time. */
export type RedisEngine = ReturnType<typeof createRedisEngine>;

/** Connects in the background; throws only for an invalid URL. */
export function createRedisEngine(options: {
  /** `redis://` or `rediss://`; several, separated by commas, are the nodes of a Redis Cluster. */
  readonly url: string;
  /** First part of the names of all keys and pub/sub channels. */
  readonly prefix: string;
  /** Limit of the check-in queue in bytes; default: 1 GiB. */
  readonly checkInBytesMax?: number;
  /** Longest wait for the answer to a command in milliseconds; default: 800. */
  readonly answerMsMax?: number;
  /** Called with the cause when a connection fails or stored data is malformed; contains no secret. */
  readonly onFault: (error: unknown) => void;
  /** Called for every key that was removed because its value had a wrong type. */
  readonly onRemoved?: (removed: RemovedKey) => void;
  /** Called with the number of accepted check-ins that another program has removed from Redis. */
  readonly onLost?: (count: number) => void;
  /** Called with the reason when Redis is refused, and with undefined when it is used again. */
  readonly onRefused?: (refusal: OfAnotherRecord | undefined) => void;
}) {
  let { url } = options;
  const targetOf = (text: string) => ({
    ...parseTarget(text),
    answerMsMax: options.answerMsMax,
  });
  let target = targetOf(url);
  let latestFault: Error | undefined;
  const onFault = (error: unknown) => {
    latestFault = faultOf(error, target);
    options.onFault(latestFault);
  };
  const keys = createKeys({ prefix: options.prefix, database: target.login.db });
  const unguarded = repairingConnection(
    openMovableConnection(target, onFault),
    options.onRemoved ?? (() => undefined),
  );
  const names = createRedisChannelNames(unguarded, keys, onFault);
  const guard = new RecordGuard({
    ...{ connection: unguarded, keys, names },
    onChange(refusal) {
      options.onRefused?.(refusal);
      // Messages that came while Redis was refused were ignored.
      if (refusal === undefined)
        for (const each of [announcements, labelNotifications]) each.resume();
    },
  });
  const connection = guardConnection(unguarded, guard);
  const isHeard = () => guard.refusal === undefined;
  const subscriptions = createSubscriptions(() => target, keys, onFault, isHeard);
  const { announcements, activities, labelNotifications } = subscriptions;

  return {
    ...createRedisChannelNames(connection, keys, onFault),
    readShared: (heldTag: string | undefined) => readShared(unguarded, keys, names, heldTag),

    ...createRedisCheckIns(
      connection,
      keys,
      options.checkInBytesMax ?? CHECK_IN_BYTES_MAX,
      onFault,
      options.onLost ?? (() => undefined),
    ),
    ...createRedisLabels(connection, keys, onFault),
    ...createRedisActions(connection, keys, onFault),
    ...createRedisRates(connection, keys),
    ...createRedisNotifications(connection, keys, subscriptions),
    ...createRedisSnapshots(connection, keys, onFault),

    isReachable: connection.isReachable,

    /** Returns why the engine is not reachable. */
    lastFailure: (): Error => guard.refusal ?? latestFault ?? new Error('timeout'),

    /** Rejects with `Unavailable` when a server that has a stream of check-ins refuses writes. */
    async tryWrite() {
      const streams = Array.from({ length: CHECK_IN_STREAMS }, (_, stream) => stream);
      const calls = streams.map((stream) => ({ key: keys.trial(stream), args: [] }));
      await connection.runAll(SCRIPTS.tryWrite, calls);
    },

    /**
     * Refuses a Redis of any other record from now on; undefined while this node does not know its own.
     * `knowsSome` returns whether the ledger has any of the given channels.
     */
    belongTo: (record: string | undefined, knowsSome: KnowsSome) => guard.expect(record, knowsSome),

    /**
     * Connects to another address; uses it once it answers, or after 2 s. Throws for an invalid URL. The
     * database number stays, because names of pub/sub channels contain it.
     */
    async useAddress(nextUrl: string) {
      if (nextUrl === url) return;
      const next = targetOf(nextUrl);
      url = nextUrl;
      await unguarded.moveTo(next);
      target = next;
      for (const each of [announcements, activities, labelNotifications]) each.reconnect();
    },

    async close() {
      for (const each of [announcements, activities, labelNotifications, connection]) each.close();
    },
  };
}

type Notifications = Pick<
  Engine,
  'announce' | 'subscribe' | 'shareActivity' | 'onActivity' | 'tellLabels' | 'onLabels'
>;

/** Messages between nodes by pub/sub: changed channels, fleet activity, devices with changed labels. */
function createRedisNotifications(
  connection: RedisConnection,
  keys: Keys,
  { announcements, activities, labelNotifications }: ReturnType<typeof createSubscriptions>,
): Notifications {
  const tell = async (route: string, channel: string, message: string) =>
    void (await connection.run(SCRIPTS.announce, route, channel, message));
  return {
    announce(announcement) {
      const route = keys.snapshot(announcement.appRef, announcement.channel);
      return tell(route, keys.announcements, JSON.stringify(announcement));
    },
    subscribe: announcements.add,
    shareActivity: (shared) => tell(keys.activity, keys.activity, JSON.stringify(shared)),
    onActivity: (listener) => activities.add(listener, () => undefined),
    tellLabels: (notifications) =>
      tell(keys.labelNotifications, keys.labelNotifications, packLabelNotifications(notifications)),
    onLabels: labelNotifications.add,
  };
}

type Rates = DeviceRates & Pick<Engine, 'countRequest' | 'forgetRequests'>;

/** Limit, and window in milliseconds, of every device. */
const RATE = [String(LIMIT.deviceRequestsPerMinute), String(LIMIT.rateWindowMs)];

/** Sliding windows of requests: one key for each caller, and one for each busy device. */
function createRedisRates(connection: RedisConnection, keys: Keys): Rates {
  return {
    async countRequest(key, limit, windowMs) {
      const args = [String(limit), String(windowMs)];
      const reply = await connection.run(SCRIPTS.countRequest, keys.rate(key), ...args);
      const [remaining, leaveMs] = reply as [number, number];
      return remaining < 0
        ? { isAllowed: false, waitMs: leaveMs, remaining: 0, leaveMs }
        : { isAllowed: true, waitMs: 0, remaining, leaveMs };
    },

    async forgetRequests(key) {
      await connection.run(SCRIPTS.forgetRequests, keys.rate(key));
    },

    async settleDevices(debts) {
      const waits = await connection.runPacked(SCRIPTS.settleDevices, {
        keys: debts.map(({ device }) => keys.deviceRate(device)),
        argsOf: () => RATE,
        write(index, packed) {
          const { process, requestId, owed } = debts[index] as DeviceDebt;
          packed.putText(`${process}:${requestId}`);
          packed.putCount(owed.length);
          for (const { id, ageMs } of owed) {
            packed.putText(`${process}:${id}`);
            packed.putNumber(ageMs);
          }
        },
      });
      return (waits as readonly number[]).map(decisionOf);
    },
  };
}

const ALLOWED: RateDecision = { isAllowed: true, waitMs: 0 };

function decisionOf(waitMs: number): RateDecision {
  return waitMs === 0 ? ALLOWED : { isAllowed: false, waitMs };
}
