// The ledger: the system of record. One SQL implementation, on PostgreSQL through a `pg` pool or on PGlite.
//
// Calls return refusals as values. They reject with `Unavailable` when the database cannot be reached, does
// not answer in time, or is not the record; a rejected write may or may not have happened. A write that
// resolved is durable. Every change of what a channel serves increments the channel's revision and writes an
// audit entry, in the same transaction. A write for an actor reads the actor's right in its own transaction
// and holds it until the commit; if the right has ended, nothing is stored and the write is refused.
// Tenant checks are part of the queries: an app outside the caller's scope is an unknown app.

import type { createSqlLedger } from './ledger/sql-ledger.ts';

/**
 * The calls of the ledger. Each is declared once, at its function in `ledger/`, which has the database as
 * first argument. The types of their arguments and results are in the files beside this one.
 */
export type Ledger = ReturnType<typeof createSqlLedger>;

/**
 * The part of the ledger that answers devices: served states, first offers, labels and check-ins. An edge has
 * another implementation, which asks its upstream.
 */
export type ServingLedger = Pick<
  Ledger,
  // Served states.
  | 'listChannelNames'
  | 'readRevisions'
  | 'readSnapshot'
  | 'recordFirstOffer'
  // Recovery when the ledger went back.
  | 'confirm'
  | 'raiseEpoch'
  | 'restoreOffers'
  // Devices: time, labels and check-ins.
  | 'readTime'
  | 'readLabels'
  | 'readLabelChanges'
  | 'recordCheckIns'
  | 'recordAwaited'
  | 'recordChecks'
  | 'isReachable'
  | 'close'
>;
