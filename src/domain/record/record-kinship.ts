// Whether data belongs to a record: the content of one database, which gets its name once. Data written
// before it had a name is identified by its channels, whose random ids no two records share.

/** What identifies the record that some held data belongs to. */
export type Holding = {
  /** Name of its record; undefined if it was not saved. */
  readonly record: string | undefined;
  readonly channelCount: number;
  /** Number of those channels that the record in question has. */
  readonly knownCount: number;
};

/** `nothing`: the data has neither a name to compare nor a channel, so it tells nothing. */
export type RecordKinship = 'same' | 'other' | 'nothing';

/** Returns whether held data belongs to the record of this name; undefined for a record without a name. */
export function recordKinship(held: Holding, record: string | undefined): RecordKinship {
  if (held.record !== undefined && record !== undefined) {
    return held.record === record ? 'same' : 'other';
  }
  if (held.channelCount === 0) return 'nothing';
  return held.knownCount > 0 ? 'same' : 'other';
}
