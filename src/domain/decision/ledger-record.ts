// Records: which one some data, a database or an edge's index belongs to, and whether the index is ahead.

import type { EdgeIndexAnswer } from '../../contract/edge.ts';

// Whether data belongs to a record, which is the content of one database and gets its name once. Data written
// before it had a name is identified by its channels, whose random ids no two records share.

/** What identifies the record that some held data belongs to. */
export type Holding = {
  /** Name of its record; undefined if it was not saved. */
  readonly record: string | undefined;
  readonly channelCount: number;
  /** Number of those channels that the record in question has. */
  readonly knownCount: number;
};

/** `nothing`: the data has neither a name to compare nor a channel, so nothing shows where it belongs. */
export type RecordKinship = 'same' | 'other' | 'nothing';

/** Returns whether held data belongs to a record; `record` is its name, undefined before it has one. */
export function recordKinship(held: Holding, record: string | undefined): RecordKinship {
  if (held.record !== undefined && record !== undefined) {
    return held.record === record ? 'same' : 'other';
  }
  if (held.channelCount === 0) return 'nothing';
  return held.knownCount > 0 ? 'same' : 'other';
}

// Judges whether a database is the record that a node belongs to. What the node itself holds, in its process
// and on its disk, counts most. If it holds nothing, what Redis keeps for all nodes counts, unless the
// database has channels of its own: then Redis belongs to another record.

export type ExaminedDatabase = {
  /** Name of its record; undefined before it has one. */
  readonly record: string | undefined;
  readonly hasChannels: boolean;
};

export type DatabaseVerdict = {
  readonly isRecord: boolean;
  /** Name to give to a record that has none: the one that the node holds, or Redis. */
  readonly inherited: string | undefined;
  /** False while Redis, which alone may remember the record, has not answered. */
  readonly isSettled: boolean;
};

/**
 * Judges a database by what the node holds and what Redis keeps (undefined if Redis did not answer). A
 * database without channels is not the record if channels are remembered: it is empty, or is being restored.
 */
export function judgeDatabase(
  { record, hasChannels }: ExaminedDatabase,
  own: Holding,
  shared: Holding | undefined,
): DatabaseVerdict {
  const mine = recordKinship(own, record);
  const theirs = shared === undefined ? 'nothing' : recordKinship(shared, record);
  const isSharedRefused = mine === 'same' && theirs === 'other';
  const rememberedCount = own.channelCount + (isSharedRefused ? 0 : (shared?.channelCount ?? 0));
  const isEmptied = !hasChannels && rememberedCount > 0;
  const fromShared = theirs === 'same' ? shared?.record : undefined;
  return {
    isRecord: mine !== 'other' && !isEmptied,
    inherited: mine === 'same' && own.record !== undefined ? own.record : fromShared,
    isSettled: mine !== 'nothing' || shared !== undefined,
  };
}

// Compares the index that an edge holds with the state of the service, which once sent that index. If the
// service is behind it, the ledger went back to an earlier state, or is another copy of the record.

export type HeldIndex = Pick<EdgeIndexAnswer, 'record' | 'epoch' | 'line' | 'channels'>;

/** Current state of the service. */
export type PresentStates = Pick<EdgeIndexAnswer, 'record' | 'epoch' | 'line'> & {
  /** Returns the revision of a channel by its id; undefined if there is no such channel. */
  revisionOf(channelId: string): number | undefined;
};

/** Returns whether a held index is of a state that is not in the past of the present time line. */
export function isIndexAhead(held: HeldIndex, present: PresentStates): boolean {
  if (held.epoch !== present.epoch) return held.epoch > present.epoch;
  const lines = [held.line ?? undefined, present.line ?? undefined];
  if (!lines.includes(undefined) && lines[0] !== lines[1]) return true;
  return held.channels.some(
    ([, , id, , revision]) => revision > (present.revisionOf(id) ?? revision),
  );
}

/** Returns whether the held index belongs to the service's record. */
export function indexKinship(held: HeldIndex, present: PresentStates): RecordKinship {
  const known = held.channels.filter(([, , id]) => present.revisionOf(id) !== undefined);
  const holding = {
    record: held.record ?? undefined,
    channelCount: held.channels.length,
    knownCount: known.length,
  };
  return recordKinship(holding, present.record ?? undefined);
}
