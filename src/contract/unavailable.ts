// The error of every store that cannot be reached or does not answer in time. It says nothing about the data:
// the caller may try again after `Retry-After`.

/** Store by its role for a node; an edge's ledger is the service that it follows (`upstream`). */
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

/** The error of a store that answers, but belongs to another record than this node. */
export class OfAnotherRecord extends Unavailable {}

/**
 * The error of a call that gave up waiting for a lock of another call. The store is available, and calls that
 * need other locks may succeed.
 */
export class LockedTooLong extends Unavailable {}

/**
 * Returns an error with a message. A host with several IP addresses fails with an AggregateError, which has a
 * code but no message; its first error has one.
 */
function describable(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0] ?? error;
  return error;
}
