// Standing of releases and channels: what devices are offered now, by the rules of the decision
// (docs/contract.md 4.17).

import type { Answer } from './answer-shape.ts';

/**
 * State of a release. `serving`: all devices that it is meant for are offered it; `rolling out`: a part of
 * them; `for nobody yet`: it is published at 0 %, or for no device that could install it; `superseded`: they
 * are offered higher versions instead.
 */
export type StandingState = ReleaseStanding['state'];

/** Change that gave a release its present status. */
export type StatusChange = NonNullable<ReleaseStanding['change']>;
export type ReleaseStanding = Answer<'OwnedRelease'>['standing'];

/** Release that devices of a channel are offered. */
export type ServedRelease = {
  readonly version: string;
  /** Its channel: this one, or the one that it follows. */
  readonly channel: string;
  readonly rolloutPct: number;
  /** Platforms that are offered it; empty if all that the channel has files for are. */
  readonly on: readonly string[];
  /** Whether it has conditions, so that only some devices are meant. */
  readonly isTargeted: boolean;
};

export type ChannelStanding = {
  /** Releases that all devices which they are meant for are offered, highest version first. */
  readonly serving: readonly ServedRelease[];
  /** Releases that a part of them is offered, highest version first. */
  readonly rolling: readonly ServedRelease[];
};
