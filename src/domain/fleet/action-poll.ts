// What a poll of DDI lists: the action of the device, after the decision of its channel has opened, kept,
// replaced or withdrawn it. Pure: the caller stores the changed actions before it answers.

import { compareServing, type ServingOrder } from '../decision/serving-snapshot.ts';
import { endAction } from './action-reports.ts';
import {
  type ActionRelease,
  actionId,
  type DeviceActions,
  isBarred,
  isSameRelease,
  type OpenAction,
  type RetryRule,
} from './device-actions.ts';

/** What a channel decides for the device, and the rules by which it answers polls. */
export type PollQuestion = {
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly now: number;
  readonly channelId: string;
  /** State of the channel that the process serves. */
  readonly order: ServingOrder;
  /** The release that the channel decides for the device; undefined when it decides none. */
  readonly decided: (ActionRelease & { readonly retriedAt: number | undefined }) | undefined;
  /**
   * Returns whether a release would be decided for the device if there were none above it; undefined when the
   * process does not know the release.
   */
  readonly isOffered: (release: ActionRelease) => boolean | undefined;
  readonly rule: RetryRule & { readonly askDays: number };
  /** Whether the address of the poll has the device's version. */
  readonly isVersionInAddress: boolean;
};

export type PollOutcome = {
  /** Actions of the device now; the same object when the poll changes nothing. */
  readonly device: DeviceActions;
  /** The action that the poll lists, and how. */
  readonly listed: ListedAction | undefined;
  /** Whether the device is asked for its attributes. */
  readonly asksAttributes: boolean;
  /** Whether the device gets nothing because it is barred from the decision. */
  readonly isBarred: boolean;
};

export type ListedAction = { readonly kind: 'deployment' | 'cancel'; readonly id: number };

/** The process's state of the channel is too old to tell what became of the device's action. */
export const CHANNEL_TOO_OLD = Symbol('channel too old');

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Time after which a cancellation without an answer ends. */
const CANCEL_MAX_MS = HOUR_MS;
/** Time for a device to restart after a success, before it is asked for its version. */
const RESTART_MS = 5 * MINUTE_MS;

/** Decides what a poll lists for a device on record. */
export function decidePoll(
  device: DeviceActions,
  question: PollQuestion,
): PollOutcome | typeof CHANNEL_TOO_OLD {
  const kept = keepAction(device, question);
  if (kept === CHANNEL_TOO_OLD) return kept;
  const { decided, rule, now } = question;
  const isFree = kept.action === undefined && decided !== undefined;
  const isKeptOut = isFree && isBarred(kept, decided, rule, now);
  const polled = isFree && !isKeptOut ? openAction(kept, decided, question) : kept;
  return {
    device: polled,
    listed: listedOf(polled),
    asksAttributes: asksAttributes(polled, question),
    isBarred: isKeptOut,
  };
}

/** Lets the channel's state go on with the open action, or end it. */
function keepAction(
  device: DeviceActions,
  question: PollQuestion,
): DeviceActions | typeof CHANNEL_TOO_OLD {
  const { action } = device;
  if (action === undefined) return device;
  if (isServedOlder(question, action)) {
    return question.isOffered(action) === undefined ? CHANNEL_TOO_OLD : device;
  }
  const { now, decided } = question;
  switch (action.state) {
    case 'withdrawing':
      return now - action.since < CANCEL_MAX_MS ? device : endAction(device, 'withdrawn', now);
    case 'open':
      return decided !== undefined && isSameRelease(decided, action)
        ? device
        : endAction(device, 'withdrawn', now);
    case 'fetched': {
      if (question.isOffered(action) === true) return device;
      const withdrawn: OpenAction = { ...action, state: 'withdrawing', since: now };
      return { ...device, revision: device.revision + 1, action: withdrawn };
    }
  }
}

/** Returns whether an action was opened by a later state of the channel than this process serves. */
export function isServedOlder(
  { channelId, order }: Pick<PollQuestion, 'channelId' | 'order'>,
  action: OpenAction,
): boolean {
  return channelId === action.channelId && compareServing(order, action.order) < 0;
}

/** Opens an action. A bar that ended because all devices are to try the release again counts no more. */
function openAction(
  device: DeviceActions,
  release: NonNullable<PollQuestion['decided']>,
  { now, channelId, order }: PollQuestion,
): DeviceActions {
  const { number, version, retriedAt = Number.NEGATIVE_INFINITY } = release;
  const action: OpenAction = { number, version, state: 'open', since: now, channelId, order };
  const bars = device.bars.filter((bar) => !isSameRelease(bar, release) || bar.at > retriedAt);
  return { ...device, revision: device.revision + 1, action, bars };
}

function listedOf({ action, ended }: DeviceActions): ListedAction | undefined {
  if (action === undefined) return undefined;
  const kind = action.state === 'withdrawing' ? 'cancel' : 'deployment';
  return { kind, id: actionId(action.number, ended) };
}

/** Returns whether attributes are missing, too old, or have to confirm a success. */
function asksAttributes(device: DeviceActions, { now, rule, isVersionInAddress }: PollQuestion) {
  const { putAt, told } = device;
  if (putAt === undefined) return true;
  if (rule.askDays > 0 && now - putAt > rule.askDays * DAY_MS) return true;
  if (isVersionInAddress || told.version === undefined) return false;
  const success = device.bars.findLast(({ result }) => result === 'succeeded');
  if (success === undefined || success.isConfirmed) return false;
  const from = success.at + RESTART_MS;
  const isDue = now >= from && now < success.at + DAY_MS;
  return isDue && !(putAt >= from && putAt > now - HOUR_MS);
}
