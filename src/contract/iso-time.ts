// How the contract writes a time.

/** Text of a time in milliseconds since 1970: ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
