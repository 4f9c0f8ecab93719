// A new release on a channel.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import type { Actor, Changed, NewRelease } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertAudit } from './insert-audit.ts';
import { bumpRevision, type LockedChannel, lockChannel } from './lock-channel.ts';
import { RELEASE_JSON } from './release-json.ts';

/**
 * One transaction under the channel's lock: the release with its artifacts, the revision and the audit,
 * or none of them. Publishes to one channel happen one after the other; of several with the same
 * canonical version exactly one lands.
 */
export function publishRelease(
  database: Database,
  organizationId: string,
  release: NewRelease,
  actor: Actor,
): Promise<Outcome<Changed<Release>>> {
  return atomically(database, async (sql) => {
    const channel = await lockChannel(sql, organizationId, release.app, release.channel);
    if (isFailure(channel)) return channel;
    const rolloutPct = release.rolloutPct ?? channel.defaultRollout;
    const id = await insertRelease(sql, channel.id, { ...release, rolloutPct });
    if (id === undefined) return fail('versionExists');
    await insertArtifacts(sql, id, release.artifacts);
    const revision = await bumpRevision(sql, channel);
    await auditPublish(sql, channel, { ...release, rolloutPct }, actor);
    return { value: await readRelease(sql, id), changed: [revision] };
  });
}

type ResolvedRelease = NewRelease & { readonly rolloutPct: number };

/** Undefined when the channel has the version. */
async function insertRelease(
  sql: Sql,
  channelId: string,
  release: ResolvedRelease,
): Promise<string | undefined> {
  const { version, canonicalVersion, notes, status, rolloutPct, targets } = release;
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO releases
       (id, channel_id, version, canonical_version, notes, status, rollout_pct, targets)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (channel_id, canonical_version) DO NOTHING RETURNING id`,
    [
      newId('rel'),
      channelId,
      version,
      canonicalVersion,
      notes,
      status,
      rolloutPct,
      targets === null ? null : JSON.stringify(targets),
    ],
  );
  return rows[0]?.id;
}

/** All in one statement; a field that is absent is stored as null. */
async function insertArtifacts(
  sql: Sql,
  releaseId: string,
  artifacts: readonly Artifact[],
): Promise<void> {
  if (artifacts.length === 0) return;
  await sql.query(
    `INSERT INTO artifacts
       (release_id, position, platform, arch, url, sha512, size, signature)
     SELECT $1, item.position - 1, item.platform, item.arch, item.url, item.sha512, item.size,
       item.signature
     FROM ROWS FROM (
       json_to_recordset($2::json) AS (
         platform text, arch text, url text, sha512 text, size bigint, signature text
       )
     ) WITH ORDINALITY
       AS item (platform, arch, url, sha512, size, signature, position)`,
    [releaseId, JSON.stringify(artifacts)],
  );
}

function auditPublish(
  sql: Sql,
  channel: LockedChannel,
  release: ResolvedRelease,
  actor: Actor,
): Promise<void> {
  const { version, status, rolloutPct, targets, artifacts } = release;
  return insertAudit(sql, {
    organizationId: channel.app.organizationId,
    actor,
    action: 'release.publish',
    subject: `${channel.app.ref}/${channel.name}@${version}`,
    before: null,
    after: { version, status, rolloutPct, targets, artifacts: artifacts.length },
  });
}

/** As every later reader sees it. */
async function readRelease(sql: Sql, id: string): Promise<Release> {
  const rows = await sql.query<{ release: Release }>(
    `SELECT ${RELEASE_JSON} AS release
     FROM releases
     JOIN channels ON channels.id = releases.channel_id
     JOIN apps ON apps.id = channels.app_id
     WHERE releases.id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`New release ${id} has no row`);
  return rows[0].release;
}
