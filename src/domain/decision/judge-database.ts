// Whether a database is the record of a node. The node itself remembers most surely: its process and its
// disk. Without that, what the engine keeps for all nodes counts, but not against a database that has
// channels of its own: then it is the engine that is another's.

import { type Holding, recordKinship } from './record-kinship.ts';

export type ExaminedDatabase = {
  /** Name of its record; undefined before it has one. */
  readonly record: string | undefined;
  readonly hasChannels: boolean;
};

export type DatabaseVerdict = {
  readonly isRecord: boolean;
  /** Name that a record without one gets, because what is its own already has it. */
  readonly inherited: string | undefined;
  /** Whether it is certain: false while the engine, which alone may remember something, has not answered. */
  readonly isSettled: boolean;
};

/**
 * Judges a database by what the node itself holds, and what the engine keeps; undefined when that did not
 * answer. A database without any channel is not the record where channels are remembered: it is empty, or is
 * being restored.
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
