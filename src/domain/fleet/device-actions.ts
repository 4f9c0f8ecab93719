// The actions of a device that speaks DDI: the release that it is to install, the ends of those before, and
// the bars that keep it from installing one again. Plain data, which `action-poll.ts` and `action-reports.ts`
// change.

import type { ServingOrder, SnapshotRelease } from '../decision/serving-snapshot.ts';

/** What is known of a device. Every change raises the revision by 1. */
export type DeviceActions = {
  readonly revision: number;
  readonly told: ToldByAttributes;
  /** Time of the last PUT of attributes, in milliseconds since 1970; undefined before the first. */
  readonly putAt: number | undefined;
  /** Canonical version on record: the one told last; undefined while none is known. */
  readonly version: string | undefined;
  /** Whether the device, or a fleet report of it, ever told a version. */
  readonly hasTold: boolean;
  /** Number of actions that have ended. */
  readonly ended: number;
  /** The action that has not ended. */
  readonly action: OpenAction | undefined;
  /** The action that ended last. */
  readonly last: EndedAction | undefined;
  /** One per release, the newest last. */
  readonly bars: readonly Bar[];
};

/** Attributes that say what a device is, by their meaning; absent ones were not told. */
export type ToldByAttributes = {
  readonly platform?: string;
  readonly arch?: string;
  readonly bundle?: string;
  /** Canonical version, which `DeviceActions.version` has as well unless another was told since. */
  readonly version?: string;
};

/** The release of an action: its number in the app, and its canonical version. */
export type ActionRelease = { readonly number: number; readonly version: string };

/** Returns whether two are one release: a ledger that went back gives numbers again. */
export function isSameRelease(one: ActionRelease, other: ActionRelease): boolean {
  return one.number === other.number && one.version === other.version;
}

export type OpenAction = ActionRelease & {
  /** `fetched`: the device knows what to install; `withdrawing`: it is asked to cancel. */
  readonly state: 'open' | 'fetched' | 'withdrawing';
  /** When the state began, in milliseconds since 1970. */
  readonly since: number;
  /** Channel and its state by which the action was opened. */
  readonly channelId: string;
  readonly order: ServingOrder;
};

export type ActionResult = 'succeeded' | 'failed';

export type EndedAction = ActionRelease & {
  readonly state: ActionResult | 'withdrawn';
  readonly since: number;
};

/** Keeps a device from an action for a release that it has closed one of. */
export type Bar = ActionRelease & {
  readonly result: ActionResult;
  /** Time of the closing, in milliseconds since 1970. */
  readonly at: number;
  /** Number of failures in a row. */
  readonly tries: number;
  /** Whether the release's version has been the one on record. */
  readonly isConfirmed: boolean;
};

/** When bars end by themselves (a channel's `ddi`). */
export type RetryRule = { readonly retries: number; readonly retryAfterMinutes: number };

/** Maximum number of bars of a device. */
export const BARS_MAX = 8;
/** Number of last digits of ids; none is 0, which a released Zephyr loses from the id that it answers. */
const DIGITS = 9;
const MINUTE_MS = 60_000;

/** A device of which nothing is known but that it is on record. */
export const NO_ACTIONS: DeviceActions = {
  revision: 0,
  told: {},
  putAt: undefined,
  version: undefined,
  hasTold: false,
  ended: 0,
  action: undefined,
  last: undefined,
  bars: [],
};

/**
 * Returns the id of the device's action for a release after this number of ended actions: the number of the
 * release, then a digit from 1 to 9. So every process names an action alike, an id leads to its release, and
 * the ids of nine actions in a row differ.
 */
export function actionId(releaseNumber: number, ended: number): number {
  return releaseNumber * 10 + 1 + (ended % DIGITS);
}

/** Returns the id of the action that has not ended; undefined when there is none. */
export function openId({ action, ended }: DeviceActions): number | undefined {
  return action === undefined ? undefined : actionId(action.number, ended);
}

/** Returns the id of the action that ended last; undefined when there is none. */
export function lastId({ last, ended }: DeviceActions): number | undefined {
  return last === undefined ? undefined : actionId(last.number, ended - 1);
}

/**
 * Returns the time in milliseconds at which a bar ends by itself: each failure waits twice as long as the one
 * before. Undefined when no time ends it: after a success, and after as many failures as there are retries.
 */
export function barEnd(bar: Bar, { retries, retryAfterMinutes }: RetryRule): number | undefined {
  if (bar.result === 'succeeded' || bar.tries > retries) return undefined;
  return bar.at + retryAfterMinutes * MINUTE_MS * 2 ** (bar.tries - 1);
}

/** Returns when all devices were last told to try a release again, in milliseconds since 1970. */
export function retryTimeOf({ retriedAt }: Pick<SnapshotRelease, 'retriedAt'>): number | undefined {
  return retriedAt === null ? undefined : Date.parse(retriedAt);
}

/**
 * Returns whether a device is barred from a release. `retriedAt` is when the release was last told to be
 * tried again by all devices.
 */
export function isBarred(
  { bars }: DeviceActions,
  release: ActionRelease & { readonly retriedAt: number | undefined },
  rule: RetryRule,
  now: number,
): boolean {
  const { retriedAt } = release;
  const bar = bars.find((each) => isSameRelease(each, release));
  if (bar === undefined || (retriedAt !== undefined && bar.at <= retriedAt)) return false;
  return now < (barEnd(bar, rule) ?? Number.POSITIVE_INFINITY);
}
