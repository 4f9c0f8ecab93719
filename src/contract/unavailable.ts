// The error of every store that cannot be reached or does not answer in time. It says nothing about the data:
// the caller may try again after `Retry-After`.

import { describeStoreFault, type UnavailableStore } from './store-fault.ts';

export class Unavailable extends Error {
  readonly store: UnavailableStore;

  /**
   * The message is what anybody may read (`store-fault.ts`). `cause` is the driver's error, for the log, or a
   * sentence; that of another `Unavailable` is taken over, so that nothing is said twice. `name` replaces the
   * name of the store.
   */
  constructor(store: UnavailableStore, cause: unknown, name?: string) {
    const root = cause instanceof Unavailable ? cause.cause : describable(cause);
    const told =
      cause instanceof Unavailable ? cause.message : describeStoreFault(store, root, name);
    super(told, { cause: root });
    this.name = 'Unavailable';
    this.store = store;
  }

  /** What the driver said, for operators; undefined if that is the message. */
  get detail(): string | undefined {
    return this.cause instanceof Error ? this.cause.message.replace(/\s+/g, ' ') : undefined;
  }
}

/** The error of a store that answers, but belongs to another record than this node. */
export class OfAnotherRecord extends Unavailable {}

/** The error of a call to another database than before: whether it is the record is just being examined. */
export class Unexamined extends Unavailable {
  constructor() {
    super('ledger', 'the address leads to another database, which is being examined');
  }
}

/**
 * The error of a call that gave up waiting for a lock of another call. The store is available, and calls that
 * need other locks may succeed.
 */
export class LockedTooLong extends Unavailable {}

/** The error of a call that waited, or would have waited, too long in this process: no store was asked. */
export class Overloaded extends Unavailable {
  constructor(why: string) {
    super('process', why);
  }
}

/**
 * Returns an error with a message. A host with several IP addresses fails with an AggregateError, which has a
 * code but no message; its first error has one.
 */
function describable(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0] ?? error;
  return error;
}
