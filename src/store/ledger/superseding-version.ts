// SQL that finds the release which replaces a lower one for all its devices.

import type { Artifact } from '../../contract/resource.ts';
import { compareVersions, parseVersion, type Version } from '../../domain/decision/version.ts';
import { ARTIFACTS_JSON } from './columns.ts';
import type { Sql } from './database.ts';

type Candidate = { readonly version: string; readonly artifacts: readonly Target[] };
type Target = Pick<Artifact, 'platform' | 'arch'>;

/** Maximum number of releases to compare, newest first. */
const CANDIDATES_MAX = 500;

/**
 * Returns the highest version that every device is offered instead of `version`: a higher one on the channel
 * or the one that it follows, published to 100 % without targeting, with an artifact for each platform and
 * architecture of `artifacts`. Null if there is none.
 */
export async function readSupersedingVersion(
  sql: Sql,
  channelId: string,
  version: Version,
  artifacts: readonly Target[],
): Promise<string | null> {
  const rows = await sql.query<Candidate>(
    `SELECT version, ${ARTIFACTS_JSON} AS artifacts FROM releases
     WHERE (channel_id = $1 OR channel_id = (SELECT follows FROM channels WHERE id = $1))
       AND status = 'published' AND rollout_pct = 100 AND targets IS NULL
     ORDER BY created_at DESC LIMIT ${CANDIDATES_MAX}`,
    [channelId],
  );
  let highest = version;
  let found: string | null = null;
  for (const candidate of rows) {
    const parsed = parseVersion(candidate.version);
    if (parsed === undefined || compareVersions(parsed, highest) <= 0) continue;
    if (!artifacts.every((artifact) => covers(candidate.artifacts, artifact))) continue;
    highest = parsed;
    found = candidate.version;
  }
  return found;
}

function covers(artifacts: readonly Target[], { platform, arch }: Target): boolean {
  return artifacts.some(
    (artifact) =>
      artifact.platform === platform && (artifact.arch === undefined || artifact.arch === arch),
  );
}
