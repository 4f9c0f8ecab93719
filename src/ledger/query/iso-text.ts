// How timestamps leave the database: as text made by the statement, so that both drivers give the same.

/** A timestamp as RFC 3339, UTC, milliseconds, whatever the session's time zone is. */
export function isoText(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
