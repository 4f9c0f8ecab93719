// Statement that inserts the artifacts of a release.

import type { SnapshotArtifact } from '../../domain/decision/serving-snapshot.ts';
import type { Sql } from '../database.ts';

/** Inserts all artifacts in one statement. Absent fields are stored as null. */
export async function insertArtifacts(
  sql: Sql,
  releaseId: string,
  artifacts: readonly SnapshotArtifact[],
): Promise<void> {
  if (artifacts.length === 0) return;
  await sql.query(
    `INSERT INTO artifacts
       (release_id, position, platform, arch, url, sha512, size, signature, sha256)
     SELECT $1, item.position - 1, item.platform, item.arch, item.url, item.sha512, item.size,
       item.signature, item.sha256
     FROM ROWS FROM (
       json_to_recordset($2::json) AS (
         platform text, arch text, url text, sha512 text, size bigint, signature text,
         sha256 text
       )
     ) WITH ORDINALITY
       AS item (platform, arch, url, sha512, size, signature, sha256, position)`,
    [releaseId, JSON.stringify(artifacts)],
  );
}
