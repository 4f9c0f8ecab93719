// What `sluice doctor` says: one line for each thing that it has looked at.

export type Diagnosis = { readonly checks: readonly Check[] };

export type Check = {
  /** Subject, in kebab-case, such as `redis-memory`. */
  readonly name: string;
  /** False when the operator has to mend something. */
  readonly ok: boolean;
  /** What was found, and what to do about it; never a secret. */
  readonly message: string;
};

/** Returns the check of something that is as it should be, or not worth a change. */
export function sound(name: string, message: string): Check {
  return { name, ok: true, message };
}

/** Returns the check of something that must be mended. */
export function faulty(name: string, message: string): Check {
  return { name, ok: false, message };
}
