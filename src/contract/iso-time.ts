/** Formats a time in milliseconds since 1970 as the contract does: ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
