// The error that every port throws when its store cannot be reached or does not answer in time. It says
// nothing about the data: the caller may try again, and `Retry-After` says when.

/** Store by what it is to a node; an edge's ledger is the service that it follows. */
export type UnavailableStore = 'ledger' | 'engine' | 'upstream';

export class Unavailable extends Error {
  readonly store: UnavailableStore;

  /** `cause` is the driver's error, kept for the log. */
  constructor(store: UnavailableStore, cause: unknown) {
    super(`${store} unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'Unavailable';
    this.store = store;
  }
}

/**
 * The error of a call that gave up waiting for a lock that another call holds. The store is there, so that
 * calls which need other locks may succeed.
 */
export class LockedTooLong extends Unavailable {}
