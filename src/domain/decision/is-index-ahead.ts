// Order of the indexes that edges follow. An index that somebody holds was told by the service once; if the
// service is behind it, its ledger went back, or it is another copy of the same record.

import type { EdgeIndexAnswer } from '../../contract/edge-answer.ts';
import { type RecordKinship, recordKinship } from './record-kinship.ts';

export type HeldIndex = Pick<EdgeIndexAnswer, 'record' | 'epoch' | 'line' | 'channels'>;

/** What a service has at present. */
export type PresentStates = Pick<EdgeIndexAnswer, 'record' | 'epoch' | 'line'> & {
  /** Returns the revision of a channel, by its id; undefined when there is no such channel. */
  revisionOf(channelId: string): number | undefined;
};

/** Returns whether an index tells of a state that is none of the present time line's past. */
export function isIndexAhead(held: HeldIndex, present: PresentStates): boolean {
  if (held.epoch !== present.epoch) return held.epoch > present.epoch;
  const lines = [held.line ?? undefined, present.line ?? undefined];
  if (!lines.includes(undefined) && lines[0] !== lines[1]) return true;
  return held.channels.some(
    ([, , id, , revision]) => revision > (present.revisionOf(id) ?? revision),
  );
}

/** Returns whether an index is of the record that a service has. */
export function indexKinship(held: HeldIndex, present: PresentStates): RecordKinship {
  const known = held.channels.filter(([, , id]) => present.revisionOf(id) !== undefined);
  const holding = {
    record: held.record ?? undefined,
    channelCount: held.channels.length,
    knownCount: known.length,
  };
  return recordKinship(holding, present.record ?? undefined);
}
