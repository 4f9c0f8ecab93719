// Statement that inserts the artifacts of a release.

import type { NewArtifact } from '../new-artifact.ts';
import type { Sql } from './database.ts';

/** Inserts all artifacts in one statement. Absent fields are stored as null. */
export async function insertArtifacts(
  sql: Sql,
  releaseId: string,
  artifacts: readonly NewArtifact[],
): Promise<void> {
  if (artifacts.length === 0) return;
  await sql.query(
    `INSERT INTO artifacts
       (release_id, position, platform, arch, url, sha512, size, signature, sha256, format,
        given_sha256, sha1, minimum_system_version, build_version)
     SELECT $1, item.position - 1, item.platform, item.arch, item.url, item.sha512, item.size,
       item.signature, item.digest, item.format, item.sha256, item.sha1,
       item."minimumSystemVersion", item."buildVersion"
     FROM ROWS FROM (
       json_to_recordset($2::json) AS (
         platform text, arch text, url text, sha512 text, size bigint, signature text,
         digest text, format text, sha256 text, sha1 text, "minimumSystemVersion" text,
         "buildVersion" text
       )
     ) WITH ORDINALITY
       AS item (platform, arch, url, sha512, size, signature, digest, format, sha256, sha1,
         "minimumSystemVersion", "buildVersion", position)`,
    [releaseId, JSON.stringify(artifacts)],
  );
}
