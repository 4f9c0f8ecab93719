// Failure that an answer tells.

/** Error of an answer that is printed already, and tells of a failure. */
export class NotWell extends Error {}
