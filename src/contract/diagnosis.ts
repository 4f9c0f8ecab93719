// Output of `sluice doctor`: one line per check.

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
