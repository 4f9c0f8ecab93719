// What a poll of a device that speaks DDI adds to the decision of its channel, for its explanation
// (docs/contract.md 34.51): the device may have to tell its version first, and may be barred from a release.

import type { ShownReason } from '../contract/explanation.ts';
import type { DdiSettings } from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import type { JudgedCandidate } from '../domain/decision/explain.ts';
import { parseVersion } from '../domain/decision/version.ts';
import {
  type Bar,
  barEnd,
  type DeviceActions,
  isBarred,
  isSameRelease,
  type RetryRule,
  retryTimeOf,
} from '../domain/fleet/device-actions.ts';

/** What is explained of a decision: the reason, and the releases that were considered, to the offered one. */
type Explained = {
  readonly reason: ShownReason;
  readonly candidates: readonly JudgedCandidate[];
};

/** What a poll goes by beside the decision. */
export type PollSurroundings = {
  readonly settings: DdiSettings;
  /** Canonical version on record; null if it is not known. */
  readonly version: string | null;
  /** Undefined where nothing is on record of the device. */
  readonly actions: DeviceActions | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** Returns what a poll would make of a decision; undefined where it goes by the decision. */
export function explainPoll(
  { candidates }: Explained,
  { settings, version, actions, now }: PollSurroundings,
): Explained | undefined {
  if (version === null && settings.unknownVersion === 'wait') {
    return { reason: 'unknown-version', candidates: [] };
  }
  const decided = candidates.at(-1);
  // A device with an open action goes on with it.
  if (decided?.verdict !== 'offered' || actions === undefined || actions.action !== undefined) {
    return undefined;
  }
  const { source } = decided;
  const canonical = parseVersion(source.version)?.canonical ?? source.version;
  const release = { number: source.number, version: canonical, retriedAt: retryTimeOf(source) };
  const bar = actions.bars.find((each) => isSameRelease(each, release));
  if (bar === undefined || !isBarred(actions, release, settings, now)) return undefined;
  const barred: JudgedCandidate = {
    ...decided,
    verdict: 'barred',
    detail: barSentence(bar, settings),
  };
  return { reason: 'barred', candidates: [...candidates.slice(0, -1), barred] };
}

function barSentence(bar: Bar, rule: RetryRule): string {
  if (bar.result === 'succeeded') {
    return 'It has closed this as installed, and is not known to have run it and gone back.';
  }
  const end = barEnd(bar, rule);
  return end === undefined
    ? 'It failed to install this, and does not get it again.'
    : `It failed to install this, and gets it again from ${isoTime(end)} on.`;
}
