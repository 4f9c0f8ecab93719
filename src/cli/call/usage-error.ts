// Wrong usage that only the command itself can find.

export const USAGE_HINT = ' (run with --help for the usage)';

/** Error of the usage, in one line, and where to read on. */
export class UsageError extends Error {
  readonly hint: string;

  constructor(message: string, hint = USAGE_HINT) {
    super(message);
    this.hint = hint;
  }
}
