// Standing of releases and channels: what devices are offered now, by the rules of the decision
// (docs/contract.md 4.17).

export const STANDING_STATES = [
  'serving',
  'rolling out',
  'for nobody yet',
  'superseded',
  'without files',
  'paused',
  'stopped by its guard',
  'deprecated',
  'rolled back',
] as const;

/**
 * State of a release. `serving`: all devices that it is meant for are offered it; `rolling out`: a part of
 * them; `for nobody yet`: it is published at 0 %, or for no device that could install it; `superseded`: they
 * are offered higher versions instead.
 */
export type StandingState = (typeof STANDING_STATES)[number];

/** Change that gave a release its present status. */
export type StatusChange = {
  /** RFC 3339. */
  readonly at: string;
  /** Actor, as in the audit log. */
  readonly by: string;
  readonly reason: string | null;
};

export type ReleaseStanding = {
  readonly state: StandingState;
  /** Platforms (`linux`, `darwin/aarch64`) that are offered it; empty if all that it has files for are. */
  readonly on: readonly string[];
  /** Highest version that all other devices are offered instead; null if there are none. */
  readonly supersededBy: string | null;
  /** Rolled-back versions whose devices are taken down to it, though it is offered to nobody else. */
  readonly wayDownFor: readonly string[];
  /** Null while it is published, and if the audit log does not have the change. */
  readonly change: StatusChange | null;
};

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
