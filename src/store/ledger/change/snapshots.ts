// SQL that reads the snapshot of what a channel serves.

import { isStorable } from '../../../contract/text.ts';
import type { ServingSnapshot } from '../../../domain/decision/serving-snapshot.ts';
import type { SnapshotLookup } from '../../ledger-terms.ts';
import { assembleSnapshot } from '../../snapshot/assemble-snapshot.ts';
import type { ReleaseEdition } from '../../snapshot/snapshot-index.ts';
import { isoText, jsonObject, SNAPSHOT_ARTIFACTS_JSON } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';

type Row = Omit<ServingSnapshot, 'channelId' | 'releases'> & {
  /** Null if the app has no such channel. */
  readonly channelId: string | null;
  readonly entries: string;
};

/**
 * The channel, and the entries of its index as in `SnapshotIndex`. Includes the followed channel's releases
 * of versions that the channel lacks, in any status: a device that runs a rolled-back one must be downgraded.
 */
const INDEX = `
  SELECT app.id AS "appId", app.ref AS "appRef", channels.id AS "channelId",
    channels.name AS channel, present_epoch() AS epoch, channels.revision,
    channels.update_mode AS "updateMode",
    channels.minimum_supported_version AS "minimumSupportedVersion",
    channels.require_signature AS "requireSignature",
    (SELECT name FROM channels AS followed WHERE followed.id = channels.follows) AS follows,
    channels.ddi, app.ddi_auth AS "ddiAuth",
    array_to_string(ARRAY(
      SELECT CASE WHEN offered_at IS NULL THEN edition ELSE edition || '*' END
      FROM releases WHERE releases.channel_id = channels.id ORDER BY created_at, id
    ) || ARRAY(
      SELECT edition || CASE WHEN offered_at IS NULL THEN '~' ELSE '~*' END
      FROM releases AS followed WHERE followed.channel_id = channels.follows AND NOT EXISTS (
        SELECT FROM releases AS own WHERE own.channel_id = channels.id
          AND own.canonical_version = followed.canonical_version
      ) ORDER BY created_at, id
    ), ' ') AS entries
  FROM (
    SELECT id, ref, ddi_auth FROM apps WHERE ref = $1 OR id = $1 ORDER BY (ref = $1) DESC LIMIT 1
  ) AS app
  LEFT JOIN channels ON channels.app_id = app.id AND channels.name = $2`;

/** Releases by edition, each as one text, which the embedded database transfers fastest. */
const RELEASES = `
  SELECT edition, ${jsonObject<ReleaseEdition>({
    id: 'releases.id',
    edition: 'releases.edition',
    version: 'releases.version',
    notes: `CASE WHEN releases.status = 'published' THEN releases.notes ELSE '' END`,
    status: 'releases.status',
    rolloutPct: 'releases.rollout_pct',
    targets: 'releases.targets',
    createdAt: isoText('releases.created_at'),
    number: 'releases.number',
    retriedAt: isoText('releases.retried_at'),
    artifacts: `CASE WHEN releases.status <> 'rolled_back' THEN ${SNAPSHOT_ARTIFACTS_JSON}
      ELSE '[]'::json END`,
  })}::text AS release
  FROM releases WHERE edition = ANY ($1::text[])`;

/**
 * Reads the serving state of a channel at one revision. The app is given by ref or id, and may belong to any
 * organization, because device requests name none. `known` is a snapshot that the caller has, usually of the
 * same channel: its editions are not read again, and releases that did not change at all are the same objects
 * in the result.
 *
 * Reads the index in one statement, and so in one consistent state, then the releases that `known` lacks. An
 * edition never changes, so they are exactly those of the revision. If a release has got another edition
 * meanwhile, reads everything again in a REPEATABLE READ transaction. Unpublished releases have no notes,
 * because no device is offered them. They keep their artifacts, because a device may ask for the file of the
 * version that it runs; rolled-back releases do not.
 */
export async function readSnapshot(
  database: Database,
  app: string,
  channel: string,
  known?: ServingSnapshot,
): Promise<SnapshotLookup> {
  const snapshot =
    (await readSnapshotOn(database, app, channel, known)) ??
    (await database.transaction(async (sql) => {
      await sql.runScript('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      return readSnapshotOn(sql, app, channel, known);
    }));
  if (snapshot === undefined) throw new Error(`The editions of ${app}/${channel} have no releases`);
  return snapshot;
}

/**
 * Reads the snapshot on a connection; undefined if a release has got another edition meanwhile, which cannot
 * happen in a transaction that holds the channel's lock.
 */
async function readSnapshotOn(
  sql: Sql,
  app: string,
  channel: string,
  known: ServingSnapshot | undefined,
): Promise<SnapshotLookup | undefined> {
  if (!isStorable(app)) return 'unknown-app';
  // No channel has an empty name, so the statement still tells an unknown app from an unknown channel.
  const rows = await sql.query<Row>(INDEX, [app, isStorable(channel) ? channel : '']);
  const row = rows[0];
  if (row === undefined) return 'unknown-app';
  if (row.channelId === null) return 'unknown-channel';
  const { entries, channelId, ...head } = row;
  const index = { head: { ...head, channelId }, entries };
  return assembleSnapshot(index, known, (wanted) => readReleases(sql, wanted));
}

/** Reads what a channel serves in a transaction that holds its lock. */
export async function readServedOn(
  sql: Sql,
  app: string,
  channel: string,
  known?: ServingSnapshot,
): Promise<ServingSnapshot> {
  const snapshot = await readSnapshotOn(sql, app, channel, known);
  if (typeof snapshot !== 'object') throw new Error(`Locked channel ${channel} cannot be read`);
  return snapshot;
}

async function readReleases(
  sql: Sql,
  editions: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const rows = await sql.query<{ edition: string; release: string }>(RELEASES, [editions]);
  const texts = new Map(rows.map(({ edition, release }) => [edition, release]));
  return editions.map((edition) => texts.get(edition));
}
