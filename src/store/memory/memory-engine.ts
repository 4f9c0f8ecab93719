// The engine of a single process: the embedded set-up uses it, and tests compare the Redis engine with it.

import { LRUCache } from 'lru-cache';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import {
  compareSnapshots,
  countOffered,
  orderOf,
  type ServingSnapshot,
} from '../../domain/decision/serving-snapshot.ts';
import { type SharedWindow, settleDebt } from '../../domain/fleet/shared-window.ts';
import type {
  Activity,
  Announcement,
  ChannelNameList,
  CountedRequest,
  DeviceRates,
  Engine,
} from '../engine.ts';
import { type LabelNotification, notedNotification } from '../label-store.ts';
import { createMemoryActions } from './memory-actions.ts';
import { createMemoryCheckIns } from './memory-check-ins.ts';
import { createMemoryLabels } from './memory-labels.ts';

// Both limits protect against clients that invent names. The ledger still has an evicted snapshot; an evicted
// rate window starts anew.
const SNAPSHOT_COUNT_MAX = 10_000;
const RATE_WINDOW_COUNT_MAX = 100_000;
const CHECK_IN_BYTES_MAX = 2 ** 28;

type MemoryEngineOptions = {
  /** Monotonic clock in milliseconds; default: `performance.now`. */
  readonly now?: () => number;
  /** Limit of the check-in queue in bytes; default: 256 MiB. */
  readonly checkInBytesMax?: number;
  /**
   * Returns a time by `now`: labels that were noted before it are on record. Without this option no labels
   * are noted, because the engine's own queue ends with the process, and they would be lost.
   */
  readonly labelNotesEndedBefore?: () => number;
};

export function createMemoryEngine(options: MemoryEngineOptions = {}): Engine {
  const now = options.now ?? (() => performance.now());
  const snapshots = new LRUCache<string, ServingSnapshot>({ max: SNAPSHOT_COUNT_MAX });
  const rates = createRateWindows(now, assertOpen);
  const notifications = createNotifications(assertOpen);
  let channelNames: ChannelNameList | undefined;
  let isClosed = false;

  function assertOpen(): void {
    if (isClosed) throw new Unavailable('engine', new Error('closed'));
  }

  const { checkInBytesMax = CHECK_IN_BYTES_MAX, labelNotesEndedBefore } = options;
  const checkIns = createMemoryCheckIns(now, checkInBytesMax, assertOpen);

  const labels = createMemoryLabels({ now, assertOpen, notesEndedBefore: labelNotesEndedBefore });

  return {
    ...checkIns.queue,
    ...labels,
    ...createMemoryActions(assertOpen),
    ...rates.counter,
    ...createMemoryDeviceRates(now, assertOpen),
    ...notifications.port,

    async noteLabels(notes) {
      await labels.noteLabels(notes);
      await notifications.port.tellLabels(notes.map(notedNotification));
    },

    async putSnapshot(snapshot) {
      assertOpen();
      const name = channelName(snapshot.appRef, snapshot.channel);
      const stored = snapshots.get(name);
      if (stored !== undefined && !isNewer(snapshot, stored)) return orderOf(stored);
      snapshots.set(name, snapshot);
      return undefined;
    },

    async getSnapshotHead(appRef, channel) {
      assertOpen();
      const stored = snapshots.get(channelName(appRef, channel));
      if (stored === undefined) return undefined;
      return { channelId: stored.channelId, ...orderOf(stored), offered: countOffered(stored) };
    },

    async getSnapshot(appRef, channel) {
      assertOpen();
      return snapshots.get(channelName(appRef, channel));
    },

    async putChannelNames(list) {
      assertOpen();
      channelNames = list;
    },

    async getChannelNames(heldTag) {
      assertOpen();
      return channelNames?.tag === heldTag ? undefined : channelNames;
    },

    // The names belong to this process alone: they come from no other record.
    async readShared(heldTag) {
      assertOpen();
      const tag = channelNames?.tag;
      return { record: undefined, tag, list: tag === heldTag ? undefined : channelNames };
    },

    async isReachable() {
      return !isClosed;
    },

    async close() {
      isClosed = true;
      notifications.close();
      snapshots.clear();
      channelNames = undefined;
      rates.clear();
      checkIns.close();
    },
  };
}

function createRateWindows(now: () => number, assertOpen: () => void) {
  let windows: LRUCache<string, number[]> | undefined;
  const counter: Pick<Engine, 'countRequest' | 'forgetRequests'> = {
    async countRequest(key, limit, windowMs) {
      assertOpen();
      // Not before it is used, because lru-cache allocates its memory in advance.
      windows ??= new LRUCache({ max: RATE_WINDOW_COUNT_MAX });
      const allowedAt = windows.get(key) ?? [];
      const decision = countIn(allowedAt, limit, windowMs, now());
      windows.set(key, allowedAt);
      return decision;
    },

    async forgetRequests(key) {
      assertOpen();
      windows?.delete(key);
    },
  };
  return { counter, clear: () => windows?.clear() };
}

/** Creates the messages that nodes with Redis exchange by pub/sub. */
function createNotifications(assertOpen: () => void) {
  const announcements = createListeners<Announcement>();
  const activities = createListeners<readonly Activity[]>();
  const labelNotifications = createListeners<readonly LabelNotification[]>();
  function teller<Message>(listeners: { tell(message: Message): void }) {
    return async (message: Message): Promise<void> => {
      assertOpen();
      listeners.tell(message);
    };
  }
  return {
    // One process misses no message, so `onResumed` is never called.
    port: {
      announce: teller(announcements),
      subscribe: announcements.add,
      shareActivity: teller(activities),
      onActivity: activities.add,
      tellLabels: teller(labelNotifications),
      onLabels: labelNotifications.add,
    },
    close(): void {
      announcements.close();
      activities.close();
      labelNotifications.close();
    },
  };
}

/** Creates a list of listeners for one type of message. */
function createListeners<Message>() {
  const listeners = new Set<(message: Message) => void>();
  let isClosed = false;
  return {
    add(listener: (message: Message) => void): void {
      if (!isClosed) listeners.add(listener);
    },
    /** Delivers asynchronously, like Redis: a caller must not rely on its own message at once. */
    tell(message: Message): void {
      setImmediate(() => {
        for (const listener of listeners) listener(message);
      });
    },
    close(): void {
      isClosed = true;
      listeners.clear();
    },
  };
}

/** Decides a request by the times of the allowed requests before it, which it updates in place. */
function countIn(
  allowedAt: number[],
  limit: number,
  windowMs: number,
  now: number,
): CountedRequest {
  // Only differences of times, because adding a window to a time would round it by up to a millisecond.
  const untilLeaves = (at: number) => Math.ceil(windowMs - (now - at));
  const firstWithin = allowedAt.findIndex((at) => now - at < windowMs);
  allowedAt.splice(0, firstWithin === -1 ? allowedAt.length : firstWithin);
  if (allowedAt.length < limit) {
    allowedAt.push(now);
    const leaveMs = untilLeaves(allowedAt[0] ?? now);
    return { isAllowed: true, waitMs: 0, remaining: limit - allowedAt.length, leaveMs };
  }
  // If the limit was lowered, several requests must leave the window first.
  const leavesLast = allowedAt[allowedAt.length - limit] ?? now;
  const waitMs = untilLeaves(leavesLast);
  return { isAllowed: false, waitMs, remaining: 0, leaveMs: waitMs };
}

/** Returns the map key of a channel; neither name can contain a colon. */
function channelName(appRef: string, channel: string): string {
  return `${appRef}:${channel}`;
}

function isNewer(snapshot: ServingSnapshot, stored: ServingSnapshot): boolean {
  return stored.channelId !== snapshot.channelId || compareSnapshots(snapshot, stored) > 0;
}

// Shared rate windows in memory. One process needs none; they are the reference for tests of the Redis
// engine, and let tests run several nodes in one process.

const WINDOW_COUNT_MAX = 10_000;

/** Creates the windows; an evicted one starts anew. */
function createMemoryDeviceRates(now: () => number, assertOpen: () => void): DeviceRates {
  let windows: LRUCache<string, SharedWindow> | undefined;
  return {
    async settleDevices(debts) {
      assertOpen();
      windows ??= new LRUCache({ max: WINDOW_COUNT_MAX });
      return debts.map((debt) => {
        const window = windows?.get(debt.device) ?? new Map<string, number>();
        windows?.set(debt.device, window);
        const { deviceRequestsPerMinute, rateWindowMs } = LIMIT;
        const waitMs = settleDebt(window, debt, deviceRequestsPerMinute, rateWindowMs, now());
        return { isAllowed: waitMs === 0, waitMs };
      });
    },
  };
}
