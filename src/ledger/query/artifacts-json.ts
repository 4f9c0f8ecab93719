// A release's artifacts as the contract writes them, made by the statement that reads the release.

const FIELDS = `
  'platform', artifacts.platform,
  'arch', artifacts.arch,
  'url', artifacts.url,
  'sha512', artifacts.sha512,
  'size', artifacts.size,
  'signature', artifacts.signature`;

/** The artifacts of the row of `releases` at hand, in publish order; optional fields only where present. */
export const ARTIFACTS_JSON = artifactsJson(FIELDS);

/** The same as a snapshot has them: with what only update files tell. */
export const SNAPSHOT_ARTIFACTS_JSON = artifactsJson(`${FIELDS}, 'sha256', artifacts.sha256`);

function artifactsJson(fields: string): string {
  return `(
    SELECT coalesce(
      json_agg(json_strip_nulls(json_build_object(${fields})) ORDER BY artifacts.position),
      '[]'::json
    )
    FROM artifacts WHERE artifacts.release_id = releases.id
  )`;
}
