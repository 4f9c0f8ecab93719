// Statement that reads the snapshot of what a channel serves.

import type { ChannelUpdateMode } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import type { SnapshotLookup } from '../../ports/ledger.ts';
import type { Database } from '../database.ts';
import { isoText, SNAPSHOT_ARTIFACTS_JSON } from './column.ts';

type Row = {
  readonly appId: string;
  readonly appRef: string;
  /** Null when the app has no such channel. */
  readonly channelId: string | null;
  readonly channel: string;
  readonly epoch: number;
  readonly revision: number;
  readonly updateMode: ChannelUpdateMode;
  readonly minimumSupportedVersion: string | null;
  readonly releases: string;
};

const SNAPSHOT = `
  SELECT app.id AS "appId", app.ref AS "appRef", channels.id AS "channelId",
    channels.name AS channel, present_epoch() AS epoch, channels.revision,
    channels.update_mode AS "updateMode",
    channels.minimum_supported_version AS "minimumSupportedVersion",
    (
      SELECT coalesce(json_agg(json_build_object(
        'id', releases.id,
        'version', releases.version,
        'notes', CASE WHEN releases.status = 'published' THEN releases.notes ELSE '' END,
        'status', releases.status,
        'rolloutPct', releases.rollout_pct,
        'targets', releases.targets,
        'offered', releases.offered_at IS NOT NULL,
        'createdAt', ${isoText('releases.created_at')},
        'artifacts', CASE WHEN releases.status = 'published' THEN ${SNAPSHOT_ARTIFACTS_JSON}
          ELSE '[]'::json END
      ) ORDER BY releases.created_at, releases.id), '[]'::json)::text
      FROM releases WHERE releases.channel_id = channels.id
    ) AS releases
  FROM (
    SELECT id, ref FROM apps WHERE ref = $1 OR id = $1 ORDER BY (ref = $1) DESC LIMIT 1
  ) AS app
  LEFT JOIN channels ON channels.app_id = app.id AND channels.name = $2`;

/**
 * Time limit of the read, longer than the usual one: a channel with a long history and long notes takes
 * seconds.
 */
const READ_TIMEOUT_MS = 30_000;

/**
 * Reads the snapshot in one statement and so in one consistent state: the releases are exactly those of the
 * revision. Releases that are not published come without notes and artifacts, because they are offered to no
 * device. The app may be of any organization, because requests of devices name none. The releases travel as
 * text: one string crosses to the embedded database's client far quicker than tens of thousands of objects.
 */
export async function readSnapshot(
  database: Database,
  app: string,
  channel: string,
): Promise<SnapshotLookup> {
  if (!isStorable(app)) return 'unknown-app';
  // No channel has an empty name, so the statement still tells an unknown app from an unknown channel.
  const values = [app, isStorable(channel) ? channel : ''];
  const row = await database.transaction(async (sql) => {
    await sql.query(`SET LOCAL statement_timeout = ${READ_TIMEOUT_MS}`);
    const rows = await sql.query<Row>(SNAPSHOT, values, READ_TIMEOUT_MS);
    return rows[0];
  });
  if (row === undefined) return 'unknown-app';
  if (row.channelId === null) return 'unknown-channel';
  const releases = JSON.parse(row.releases) as readonly SnapshotRelease[];
  return { ...row, channelId: row.channelId, releases };
}
