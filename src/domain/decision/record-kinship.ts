// Whether what somebody holds belongs to a record. A record has a name of its own, which its database got
// once and keeps. What was written before there were such names is told by its channels, whose ids are
// random: no two records share one.

/** What somebody holds, as far as it tells of which record it is. */
export type Holding = {
  /** Name of the record that it is of; undefined where that was never noted. */
  readonly record: string | undefined;
  readonly channelCount: number;
  /** Number of those channels that the record in question has. */
  readonly knownCount: number;
};

/** `nothing`: it tells nothing, because it has neither a name to compare nor a channel. */
export type RecordKinship = 'same' | 'other' | 'nothing';

/** Returns whether a holding is of the record of this name; undefined for a record that has none yet. */
export function recordKinship(held: Holding, record: string | undefined): RecordKinship {
  if (held.record !== undefined && record !== undefined) {
    return held.record === record ? 'same' : 'other';
  }
  if (held.channelCount === 0) return 'nothing';
  return held.knownCount > 0 ? 'same' : 'other';
}
