// Failures of the command: wrong usage that only it finds, and a failure that an answer tells.

export const USAGE_HINT = ' (run with --help for the usage)';

/** Error of the usage, in one line, and where to read on. */
export class UsageError extends Error {
  readonly hint: string;

  constructor(message: string, hint = USAGE_HINT) {
    super(message);
    this.hint = hint;
  }
}

/** Error of an answer that is printed already, and tells of a failure. */
export class NotWell extends Error {}
