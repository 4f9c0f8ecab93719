// Wrong usage that only the command itself can find.

/** Error of the usage, in one line. */
export class UsageError extends Error {}
