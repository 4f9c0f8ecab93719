// A release's artifacts as the contract writes them, made by the statement that reads the release.

/** The artifacts of the row of `releases` at hand, in publish order; optional fields only where present. */
export const ARTIFACTS_JSON = `(
  SELECT coalesce(json_agg(json_strip_nulls(json_build_object(
    'platform', artifacts.platform,
    'arch', artifacts.arch,
    'url', artifacts.url,
    'sha512', artifacts.sha512,
    'size', artifacts.size,
    'signature', artifacts.signature
  )) ORDER BY artifacts.position), '[]'::json)
  FROM artifacts WHERE artifacts.release_id = releases.id
)`;
