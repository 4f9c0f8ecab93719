// The engine of a single process: the embedded set-up serves with it, and the Redis implementation is tested
// against it. `Engine` states the obligations.

import { LRUCache } from 'lru-cache';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable } from '../../contract/unavailable.ts';
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
import type { LabelNotification } from '../label-store.ts';
import { createMemoryCheckIns } from './memory-check-ins.ts';
import { createMemoryLabelNotes, createMemoryLabels } from './memory-labels.ts';

// Both bounds hold against clients that invent names. An evicted snapshot is read again from the ledger, an
// evicted rate window starts anew.
const SNAPSHOT_COUNT_MAX = 10_000;
const RATE_WINDOW_COUNT_MAX = 100_000;
const CHECK_IN_BYTES_MAX = 2 ** 28;

type MemoryEngineOptions = {
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: () => number;
  /** Maximum number of bytes in the queue of check-ins; default: 256 MiB. */
  readonly checkInBytesMax?: number;
  /**
   * Returns the time by `now` before which labels that were noted are on record. Without it no labels are
   * noted: the engine's own queue ends with the process, and the labels would be lost.
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

  return {
    ...checkIns.queue,
    ...createMemoryLabels(now, assertOpen),
    labelNotes:
      labelNotesEndedBefore && createMemoryLabelNotes(now, labelNotesEndedBefore, assertOpen),
    ...rates.counter,
    ...createMemoryDeviceRates(now, assertOpen),
    ...notifications.port,

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

    // It belongs to this process alone, and so to no other record.
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

/** Creates the sliding rate windows, by key. */
function createRateWindows(now: () => number, assertOpen: () => void) {
  const windows = new LRUCache<string, number[]>({ max: RATE_WINDOW_COUNT_MAX });
  const counter: Pick<Engine, 'countRequest' | 'forgetRequests'> = {
    async countRequest(key, limit, windowMs) {
      assertOpen();
      const allowedAt = windows.get(key) ?? [];
      const decision = countIn(allowedAt, limit, windowMs, now());
      windows.set(key, allowedAt);
      return decision;
    },

    async forgetRequests(key) {
      assertOpen();
      windows.delete(key);
    },
  };
  return { counter, clear: () => windows.clear() };
}

/** Creates the messages that travel by pub/sub where there are several nodes. */
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
    // No message is ever missed within one process, so `onResumed` is never called.
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

/** Creates the list of listeners of one type of message. */
function createListeners<Message>() {
  const listeners = new Set<(message: Message) => void>();
  let isClosed = false;
  return {
    add(listener: (message: Message) => void): void {
      if (!isClosed) listeners.add(listener);
    },
    /**
     * Delivers asynchronously, as over a network: callers must not rely on receiving their own message at
     * once.
     */
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

/**
 * Decides one request against the times of the requests allowed before it, and updates these times in place.
 */
function countIn(
  allowedAt: number[],
  limit: number,
  windowMs: number,
  now: number,
): CountedRequest {
  // Differences of times only: the sum of a time and the window would be rounded, by a millisecond at most.
  const untilLeaves = (at: number) => Math.ceil(windowMs - (now - at));
  const firstWithin = allowedAt.findIndex((at) => now - at < windowMs);
  allowedAt.splice(0, firstWithin === -1 ? allowedAt.length : firstWithin);
  if (allowedAt.length < limit) {
    allowedAt.push(now);
    const leaveMs = untilLeaves(allowedAt[0] ?? now);
    return { isAllowed: true, waitMs: 0, remaining: limit - allowedAt.length, leaveMs };
  }
  // After the limit was lowered, several requests must leave the window before one is allowed.
  const leavesLast = allowedAt[allowedAt.length - limit] ?? now;
  const waitMs = untilLeaves(leavesLast);
  return { isAllowed: false, waitMs, remaining: 0, leaveMs: waitMs };
}

/** Map key for an app and channel; neither name can contain a colon. */
function channelName(appRef: string, channel: string): string {
  return `${appRef}:${channel}`;
}

/** Returns whether a snapshot replaces the stored one, by the rule that `putSnapshot` documents. */
function isNewer(snapshot: ServingSnapshot, stored: ServingSnapshot): boolean {
  return stored.channelId !== snapshot.channelId || compareSnapshots(snapshot, stored) > 0;
}

// Shared rate windows in memory. A single process never needs them; they are the reference that the Redis
// implementation is tested against, and let tests run several nodes in one process. `DeviceRates` states the
// obligations.

// An evicted window starts anew.
const WINDOW_COUNT_MAX = 10_000;

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
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
