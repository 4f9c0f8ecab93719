// Output of `sluice doctor`: one line per check.

import { remedyOf, type UnavailableStore } from './store-fault.ts';
import { Unavailable } from './unavailable.ts';

export type Diagnosis = { readonly checks: readonly Check[] };

export type Check = {
  /** Subject in kebab-case, such as `redis-memory`. */
  readonly name: string;
  /** False if the operator has to fix something. */
  readonly ok: boolean;
  /** What was found, and what to do about it; never a secret. */
  readonly message: string;
};

/** Returns a check without a problem. */
export function sound(name: string, message: string): Check {
  return { name, ok: true, message };
}

/** Returns a check with a problem that must be fixed. */
export function faulty(name: string, message: string): Check {
  return { name, ok: false, message };
}

/** Returns a check of a store that cannot be used: the words that all use, what it said, and what to do. */
export function unusable(
  name: string,
  { store, place }: { readonly store: UnavailableStore; readonly place: string },
  error: unknown,
): Check {
  const { message, detail, cause } =
    error instanceof Unavailable ? error : new Unavailable(store, error);
  const remedy = remedyOf(cause);
  const said = detail === undefined ? '' : ` (${detail})`;
  return faulty(name, `${message}, at ${place}${said}${remedy === undefined ? '' : `: ${remedy}`}`);
}
