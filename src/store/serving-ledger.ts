// The part of the ledger that answering devices needs: what channels serve, first offers, labels, and the
// record of check-ins. Everything else is for publishers and people.

import type { Ledger } from './ledger.ts';

/** Ledger as far as serving needs it. */
export type ServingLedger = Pick<
  Ledger,
  // What channels serve.
  | 'listChannelNames'
  | 'readRevisions'
  | 'readSnapshot'
  | 'recordFirstOffer'
  // What is done when the record went back.
  | 'confirm'
  | 'raiseEpoch'
  | 'restoreOffers'
  // Devices: their time, their labels and their check-ins.
  | 'readTime'
  | 'readLabels'
  | 'readLabelChanges'
  | 'recordCheckIns'
  | 'recordAwaited'
  | 'recordChecks'
  // The store itself.
  | 'isReachable'
  | 'close'
>;
