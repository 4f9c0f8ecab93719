// Failures of a command: wrong usage that the command itself finds, and an answer that reports a failure.

export const USAGE_HINT = ' (run with --help for the usage)';

/** Usage error in one line, with a hint on where to read more. */
export class UsageError extends Error {
  readonly hint: string;

  constructor(message: string, hint = USAGE_HINT) {
    super(message);
    this.hint = hint;
  }
}

/** Thrown after a command has printed an answer that reports a failure. */
export class NotWell extends Error {}
