// Judges whether a database is the record that a node belongs to. What the node itself holds, in its process
// and on its disk, counts most. Without it, what Redis keeps for all nodes counts, unless the database has
// channels of its own: then Redis belongs to another record.

import { type Holding, recordKinship } from './record-kinship.ts';

export type ExaminedDatabase = {
  /** Name of its record; undefined before it has one. */
  readonly record: string | undefined;
  readonly hasChannels: boolean;
};

export type DatabaseVerdict = {
  readonly isRecord: boolean;
  /** Name for a record without one: the name in what the node holds, or in Redis. */
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
