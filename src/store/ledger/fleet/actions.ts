// SQL of the actions of devices that speak DDI.

import type { ShownActions } from '../../../contract/console-fleet.ts';
import type { DdiSettings } from '../../../contract/resource.ts';
import { storableText } from '../../../contract/text.ts';
import { parseActions } from '../../../domain/fleet/packed-actions.ts';
import {
  type ActedRelease,
  NO_SHOWN_ACTIONS,
  shownActions,
} from '../../../domain/fleet/shown-actions.ts';
import type { ActionWrite, RecordedActions } from '../../action-store.ts';
import type { ActionChanges } from '../../fleet-ledger.ts';
import type { DeviceName } from '../../label-store.ts';
import type { Sql } from '../database/database.ts';
import { readSettledPosition } from './labels.ts';

type Row = {
  readonly isRecorded: boolean;
  readonly revision: number | null;
  readonly text: string | null;
};

/** Reads the actions of devices, in the order of `devices`, in one consistent read. */
export async function readActions(
  sql: Sql,
  devices: readonly DeviceName[],
): Promise<readonly RecordedActions[]> {
  if (devices.length === 0) return [];
  const rows = await sql.query<Row>(
    `SELECT devices.device_id IS NOT NULL AS "isRecorded", held.revision, held.actions AS text
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (app_id, device_id, place)
     LEFT JOIN devices USING (app_id, device_id)
     LEFT JOIN device_actions AS held USING (app_id, device_id)
     ORDER BY asked.place`,
    namesOf(devices),
  );
  return devices.map(({ appId, deviceId }, index) => {
    const row = rows[index];
    if (row === undefined) throw new Error(`No row for device ${index} of ${devices.length}`);
    const { isRecorded, revision, text } = row;
    const actions = revision === null || text === null ? undefined : { revision, text };
    return { appId, deviceId, isRecorded, actions };
  });
}

type ShownRow = {
  readonly text: string;
  readonly rule: DdiSettings | null;
  readonly now: number;
};

/** Numbers of releases are those of an app; its own release_failures have the reason that a device told. */
const ACTED_RELEASES = `
  SELECT releases.number, failure.reason,
    (extract(epoch FROM releases.retried_at) * 1000)::float8 AS "retriedAt"
  FROM channels
  JOIN releases ON releases.channel_id = channels.id
  LEFT JOIN release_failures AS failure
    ON failure.release_id = releases.id AND failure.device_id = $2 AND failure.app_id = $1
  WHERE channels.app_id = $1 AND releases.number = ANY ($3::integer[])`;

/** Reads what is shown of a device's actions, with bars as the channel that it asked last has them. */
export async function readShownActions(
  sql: Sql,
  appId: string,
  deviceId: string,
): Promise<ShownActions> {
  const [row] = await sql.query<ShownRow>(
    `SELECT held.actions AS text, channels.ddi AS rule,
       (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
     FROM device_actions AS held JOIN devices USING (app_id, device_id)
     LEFT JOIN channels ON channels.app_id = held.app_id AND channels.name = devices.channel
     WHERE held.app_id = $1 AND held.device_id = $2`,
    [appId, storableText(deviceId)],
  );
  if (row === undefined) return NO_SHOWN_ACTIONS;
  const actions = parseActions(row.text);
  if (actions === undefined) return NO_SHOWN_ACTIONS;
  const { rule, now } = row;
  const { action, last, bars } = actions;
  const numbers = [action, last, ...bars].flatMap((each) => each?.number ?? []);
  const releases = await sql.query<ActedRelease>(ACTED_RELEASES, [
    ...[appId, storableText(deviceId), numbers],
  ]);
  return shownActions(actions, { releases, rule, now });
}

/**
 * Stores actions of devices on record, those of each device at most once. Returns for each whether it was
 * stored: not if the device is not on record, if the record has this revision or a higher one, or another one
 * than is expected.
 */
export async function writeActions(
  sql: Sql,
  writes: readonly ActionWrite[],
): Promise<readonly boolean[]> {
  if (writes.length === 0) return [];
  const rows = await sql.query<{ place: number }>(
    `SELECT place FROM write_device_actions($1::text[], $2::text[], $3::integer[], $4::integer[],
       $5::bigint[], $6::text[], $7::text[])`,
    [
      ...namesOf(writes),
      writes.map(({ revision }) => revision),
      writes.map(({ expected }) => expected ?? null),
      writes.map(({ changedAt }) => Math.trunc(changedAt)),
      writes.map(({ text }) => storableText(text)),
      writes.map(({ barred }) => `{${barred.join(',')}}`),
    ],
  );
  const places = new Set(rows.map(({ place }) => place));
  return writes.map((_, index) => places.has(index + 1));
}

type ChangesRow = { readonly epoch: number; readonly newest: number; readonly changes: string };

/** Fields of one change: app id, device id, revision, position, and actions. */
type Change = [string, string, number, number, string];

/**
 * Reads at most `limit` changes of actions after a position of the present epoch, in one consistent read;
 * undefined reads only the newest position. Each device is listed once, with its latest change. Goes up to
 * the settled position, as `readLabelChanges` does.
 */
export async function readActionChanges(
  sql: Sql,
  after: number | undefined,
  limit: number,
): Promise<ActionChanges> {
  const settled = await readSettledPosition(sql);
  const [row] = await sql.query<ChangesRow>(
    `SELECT present_epoch() AS epoch,
       coalesce((
         SELECT max(position) FROM device_actions WHERE position > 0 AND position <= $3::bigint
       ), 0)::float8 AS newest,
       coalesce((
         SELECT json_agg(json_build_array(app_id, device_id, revision, position, actions) ORDER BY position)
         FROM (
           SELECT app_id, device_id, revision, position, actions FROM device_actions
           WHERE position > 0 AND position > $1::bigint AND position <= $3::bigint
           ORDER BY position LIMIT $2::integer
         ) AS changed
       ), '[]')::text AS changes`,
    [after ?? null, limit, settled],
  );
  if (row === undefined) throw new Error('The ledger did not tell its changes of actions');
  const changes = JSON.parse(row.changes) as readonly Change[];
  return {
    epoch: row.epoch,
    newest: row.newest,
    changed: changes.map(([appId, deviceId, revision, position, text]) => {
      return { appId, deviceId, revision, position, text };
    }),
  };
}

/** Returns the first two arguments of a statement about devices. */
function namesOf(devices: readonly DeviceName[]): [appIds: string[], deviceIds: string[]] {
  return [
    devices.map(({ appId }) => storableText(appId)),
    devices.map(({ deviceId }) => storableText(deviceId)),
  ];
}
