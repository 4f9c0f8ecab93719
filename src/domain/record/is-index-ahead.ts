// Compares the index that an edge holds with the state of the service, which once sent that index. If the
// service is behind it, the ledger went back to an earlier state, or is another copy of the record.

import type { EdgeIndexAnswer } from '../../contract/edge.ts';
import { type RecordKinship, recordKinship } from './record-kinship.ts';

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
