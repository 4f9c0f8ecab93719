// Events of a release, made from a change of how it is served.

import { LIMIT } from '../../contract/limit.ts';
import type { NewEvent, ServedFacts } from '../../contract/notification.ts';
import type { ReleaseStatus, Targeting } from '../../contract/resource.ts';

/** State of a release as its audit entry has it; an absent field did not change. */
export type ServedState = {
  readonly status?: ReleaseStatus;
  readonly rolloutPct?: number;
  readonly targets?: Targeting | null;
  readonly stop?: string;
};

const STATUS_EVENTS = {
  published: 'release.resumed',
  paused: 'release.paused',
  rolled_back: 'release.rolled_back',
  deprecated: 'release.deprecated',
} as const;

/**
 * Returns the events of a change. The first publishing makes one event, even if it also raises or retargets.
 * `isStep`: a plan raised the rollout, which makes the event `plan.step` instead.
 */
export function servingEvents(
  before: ServedState,
  after: ServedState,
  { isFirst, isStep }: { readonly isFirst: boolean; readonly isStep: boolean },
): readonly NewEvent[] {
  const { status } = after;
  if (status === undefined) return [];
  const facts = servedFacts(status, after, before.rolloutPct);
  const isSet = status !== before.status;
  if (isSet && isFirst && status === 'published') return [{ type: 'release.published', facts }];
  const events: NewEvent[] = [];
  if (isSet) events.push({ type: STATUS_EVENTS[status], facts });
  const isRaised = (after.rolloutPct ?? 0) > (before.rolloutPct ?? after.rolloutPct ?? 0);
  if (isRaised && !isStep) events.push({ type: 'release.raised', facts });
  const isRetargeted = JSON.stringify(after.targets) !== JSON.stringify(before.targets);
  if (isRetargeted) events.push({ type: 'release.retargeted', facts });
  return events;
}

/** Returns how a release is served, as an event carries it: without a targeting that is too long. */
export function servedFacts(
  status: ReleaseStatus,
  { rolloutPct, targets, stop }: ServedState,
  rolloutBefore?: number,
): ServedFacts {
  return {
    status,
    ...(rolloutPct === undefined ? {} : { rollout: rolloutPct }),
    ...(rolloutBefore === undefined ? {} : { rolloutBefore }),
    ...(targets === undefined || isTooLong(targets) ? {} : { targets }),
    ...(stop === undefined ? {} : { stop }),
  };
}

function isTooLong(targets: Targeting | null): boolean {
  return JSON.stringify(targets).length > LIMIT.eventTargetsLengthMax;
}
