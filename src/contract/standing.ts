// Standing of releases and channels: which releases devices are offered now, found by the decision rules
// (docs/contract.md 4.17).

import type { Answer } from './answer-shape.ts';

/**
 * State of a release. `serving`: all devices that it targets are offered it; `rolling out`: a part of them;
 * `for nobody yet`: it is published at 0 %, or for no device that could install it; `superseded`: the devices
 * are offered higher versions instead.
 */
export type StandingState = ReleaseStanding['state'];

/** Change that gave a release its present status. */
export type StatusChange = NonNullable<ReleaseStanding['change']>;
export type ReleaseStanding = Answer<'OwnedRelease'>['standing'];

/** Release that devices of a channel are offered now. */
export type ServedRelease = {
  readonly version: string;
  /** Channel of the release: the devices' own, or the one that it follows. */
  readonly channel: string;
  readonly rolloutPct: number;
  /** Platforms whose devices are offered it; empty if those of all platforms with files are. */
  readonly on: readonly string[];
  /** Whether its targeting has conditions, so that it is meant for some devices only. */
  readonly isTargeted: boolean;
};

export type ChannelStanding = {
  /** Releases that all of their targeted devices are offered, highest version first. */
  readonly serving: readonly ServedRelease[];
  /** Releases that a part of their targeted devices is offered, highest version first. */
  readonly rolling: readonly ServedRelease[];
};
