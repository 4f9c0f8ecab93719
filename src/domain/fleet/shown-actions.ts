// What people and programs are shown of the actions of a device that speaks DDI (docs/contract.md 34.50).

import type { ShownActions } from '../../contract/console-fleet.ts';
import { isoTime } from '../../contract/text.ts';
import {
  actionId,
  type Bar,
  barEnd,
  type DeviceActions,
  type EndedAction,
  isBarred,
  lastId,
  type OpenAction,
  type RetryRule,
} from './device-actions.ts';

/** What is known of a release that a device has an action for, or a bar from. */
export type ActedRelease = {
  /** Number of the release in its app. */
  readonly number: number;
  /** When all devices were last told to try it again, in milliseconds since 1970; null before. */
  readonly retriedAt: number | null;
  /** Why the device failed to install it; null if it did not, or told no reason. */
  readonly reason: string | null;
};

/** What of a device's surroundings counts for its actions. */
export type ActionSurroundings = {
  readonly releases: readonly ActedRelease[];
  /** Settings of the device's channel; null where it answers no DDI, so that no time ends a bar. */
  readonly rule: RetryRule | null;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly now: number;
};

/** What is shown of a device that has no actions on record. */
export const NO_SHOWN_ACTIONS: ShownActions = { action: null, barred: [] };

const NO_RETRIES: RetryRule = { retries: 0, retryAfterMinutes: 0 };

/** Returns the open action, else the last one, and the bars that keep the device from a release now. */
export function shownActions(device: DeviceActions, around: ActionSurroundings): ShownActions {
  const { releases, now } = around;
  const rule = around.rule ?? NO_RETRIES;
  const releaseOf = (number: number) => releases.find((each) => each.number === number);
  const isKept = ({ number, version }: Bar) => {
    const retriedAt = releaseOf(number)?.retriedAt ?? undefined;
    return isBarred(device, { number, version, retriedAt }, rule, now);
  };
  const shown = device.action ?? device.last;
  return {
    action: shown === undefined ? null : shownAction(device, shown, releaseOf(shown.number)),
    barred: device.bars.filter(isKept).map((bar) => {
      const end = barEnd(bar, rule);
      return {
        version: bar.version,
        result: bar.result,
        until: end === undefined ? null : isoTime(end),
      };
    }),
  };
}

function shownAction(
  device: DeviceActions,
  { number, version, state, since }: OpenAction | EndedAction,
  release: ActedRelease | undefined,
): ShownActions['action'] {
  const id = device.action === undefined ? lastId(device) : actionId(number, device.ended);
  const reason = state === 'failed' ? (release?.reason ?? null) : null;
  return { id: String(id), version, state, since: isoTime(since), reason };
}
