// Classification of database errors by SQLSTATE: what can remedy them is waiting, an operator, or a bug fix.

import { Unavailable } from '../../contract/unavailable.ts';

/**
 * Class of a database error:
 * - `unavailable`: the database cannot be used right now; the same call may succeed later.
 * - `misconfigured`: the server refuses the login, or does not have the database; waiting does not help.
 * - `faulty`: the statement or its values are wrong, which is a bug.
 */
export type SqlStateKind = 'unavailable' | 'misconfigured' | 'faulty';

/**
 * SQLSTATE classes that count as unavailable: connection, resources, operator intervention, system and
 * configuration failures.
 */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58', 'F0']);

/** Single SQLSTATEs of other classes that count as unavailable. */
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  '25006', // read-only transaction: a replica, in the middle of a fail-over
  '25P03', // idle-in-transaction timeout: this process was stalled
  '55P03', // lock not available in time
]);

/** SQLSTATEs of calls that were undone as a whole because of what others do; they count as unavailable. */
export const UNDONE_STATES: ReadonlySet<string> = new Set([
  '40001', // serialization failure
  '40P01', // deadlock: chosen as the victim
]);

/**
 * SQLSTATEs of a missing schema, table, function or type: the database is another one, or is being restored.
 * They count as unavailable, because calls would be dropped as faulty otherwise.
 */
const MISSING_OBJECT_STATES: ReadonlySet<string> = new Set(['3F000', '42P01', '42883', '42704']);

const REFUSED_LOGIN_CLASS = '28';
const MISSING_DATABASE = '3D000';

/** Returns the class of the error with this SQLSTATE. */
export function sqlStateKind(code: string): SqlStateKind {
  if (UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE_STATES.has(code)) {
    return 'unavailable';
  }
  if (MISSING_OBJECT_STATES.has(code) || UNDONE_STATES.has(code)) return 'unavailable';
  const isRefused = code.startsWith(REFUSED_LOGIN_CLASS) || code === MISSING_DATABASE;
  return isRefused ? 'misconfigured' : 'faulty';
}

/** Whether a call was unavailable because a schema, table, function or type is missing. */
export function isMissingObject(error: unknown): boolean {
  return isOneOf(MISSING_OBJECT_STATES, error);
}

/** Whether a call was unavailable because it was undone, so that it may be made once more. */
export function isUndone(error: unknown): boolean {
  return isOneOf(UNDONE_STATES, error);
}

function isOneOf(states: ReadonlySet<string>, error: unknown): boolean {
  if (!(error instanceof Unavailable)) return false;
  const { cause } = error;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return false;
  return typeof cause.code === 'string' && states.has(cause.code);
}
