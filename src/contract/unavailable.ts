// The error that every port throws when its store cannot be reached or does not answer in time. It says
// nothing about the data: the caller may try again, and `Retry-After` says when.

/** Store by what it is to a node; an edge's ledger is the service that it follows. */
export type UnavailableStore = 'ledger' | 'engine' | 'upstream';

export class Unavailable extends Error {
  readonly store: UnavailableStore;

  /** `cause` is the driver's error, kept for the log. */
  constructor(store: UnavailableStore, cause: unknown) {
    const told = describable(cause);
    super(`${store} unavailable: ${told instanceof Error ? told.message : String(told)}`, {
      cause: told,
    });
    this.name = 'Unavailable';
    this.store = store;
  }
}

/** The error of a store that answers and is refused, because it belongs to another record than this node. */
export class OfAnotherRecord extends Unavailable {}

/**
 * The error of a call that gave up waiting for a lock that another call holds. The store is there, so that
 * calls which need other locks may succeed.
 */
export class LockedTooLong extends Unavailable {}

/**
 * Returns an error with a message. A host with several addresses fails with an AggregateError, which has a
 * code but no message; its first error has one.
 */
function describable(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0] ?? error;
  return error;
}
