// SQL of channels as an app has them: creation, lists, names and revisions. Changes of their settings are in
// `channel-settings.ts`.

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { Channel, ListedChannel } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { ServingOrder } from '../../../domain/decision/serving-snapshot.ts';
import type { ChannelState, ChannelStates } from '../../console-ledger.ts';
import type { ChannelName, ChannelNameList } from '../../engine.ts';
import type {
  Actor,
  Changed,
  ChannelPolicy,
  ChannelRevision,
  PresentRevisions,
  TenantScope,
} from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { findApp, refuseArchived } from '../change/channels.ts';
import { newId, POLICY_COLUMNS } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';

/**
 * Adds a channel to an app, given by ref or id. Stores the channel and the audit entry in one transaction; of
 * concurrent callers with one name, one succeeds.
 */
export function createChannel(
  database: Database,
  appName: string,
  name: string,
  actor: Actor,
): Promise<Outcome<Changed<Channel>>> {
  return atomically(database, actor, async (sql) => {
    const app = await findApp(sql, undefined, appName);
    if (isFailure(app)) return app;
    const archived = await refuseArchived(sql, app.id);
    if (archived !== undefined) return archived;
    const revision = await insertChannel(sql, app, name);
    if (revision === undefined) return fail('channelExists');
    const policy = await readPolicy(sql, revision.channelId);
    await insertAudit(sql, {
      organizationId: app.organizationId,
      action: 'channel.create',
      subject: `${app.ref}/${name}`,
      before: null,
      after: policy,
    });
    return { value: { app: app.ref, name, ...policy }, changed: [revision] };
  });
}

/** Reads the policy of a new channel, because only the schema knows the defaults. */
async function readPolicy(sql: Sql, id: string): Promise<ChannelPolicy> {
  const rows = await sql.query<ChannelPolicy>(
    `SELECT ${POLICY_COLUMNS} FROM channels WHERE id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`New channel ${id} has no row`);
  return rows[0];
}

const FIRST_REVISION = 1;

/**
 * Inserts a channel and returns it at its first revision; undefined if the app has a channel of this name.
 * Waits for a transaction that inserts the same name.
 */
export async function insertChannel(
  sql: Sql,
  app: { readonly id: string; readonly ref: string },
  name: string,
): Promise<ChannelRevision | undefined> {
  const id = newId('chn');
  const rows = await sql.query<ServingOrder>(
    `INSERT INTO channels (id, app_id, name, revision) VALUES ($1, $2, $3, $4)
     ON CONFLICT (app_id, name) DO NOTHING
     RETURNING present_epoch() AS epoch, revision`,
    [id, app.id, name, FIRST_REVISION],
  );
  const order = rows[0];
  return order === undefined
    ? undefined
    : { appRef: app.ref, channel: name, channelId: id, ...order };
}

/** Lists the app's channels by name. */
export async function listChannels(
  sql: Sql,
  scope: TenantScope,
  appName: string,
): Promise<Outcome<readonly ListedChannel[]>> {
  const app = await findApp(sql, scope, appName);
  if (isFailure(app)) return app;
  return sql.query<ListedChannel>(
    `SELECT name, ${POLICY_COLUMNS} FROM channels WHERE app_id = $1 ORDER BY name`,
    [app.id],
  );
}

/** Channels per read: 2,000 rows take a few milliseconds, and requests are served between reads. */
const PAGE_SIZE = 2000;

/**
 * Sum of the hashes of all ids. Ids are random, and neither an id nor a name ever changes, so the sum differs
 * if the set of channels does, even after a restore. Reading it for 10,000 channels takes a few milliseconds,
 * comparing all names ten times that.
 */
const TAG = `
  SELECT count(*) || '-' || coalesce(sum(hashtextextended(id, 0)), 0) AS tag FROM channels`;

const PAGE = `
  SELECT apps.id AS "appId", apps.ref AS "appRef",
    channels.id AS "channelId", channels.name AS channel
  FROM channels JOIN apps ON apps.id = channels.app_id
  WHERE channels.id > $1 ORDER BY channels.id LIMIT $2`;

/**
 * Lists at most `countMax` channels of all organizations; undefined when their tag is `heldTag`, which is
 * cheap to check. Reads the tag first: a channel created during the listing may be missing, and makes the
 * next call list again.
 */
export async function listChannelNames(
  database: Database,
  heldTag: string | undefined,
  countMax: number,
): Promise<ChannelNameList | undefined> {
  const [present] = await database.query<{ tag: string }>(TAG);
  const tag = present?.tag ?? '';
  if (tag === heldTag) return undefined;
  const channels: ChannelName[] = [];
  for (;;) {
    const after = channels.at(-1)?.channelId ?? '';
    const size = Math.min(PAGE_SIZE, countMax + 1 - channels.length);
    const page = await database.query<ChannelName>(PAGE, [after, size]);
    channels.push(...page);
    if (page.length < PAGE_SIZE || channels.length > countMax) break;
  }
  const isComplete = channels.length <= countMax;
  return { tag, channels: isComplete ? channels : channels.slice(0, countMax), isComplete };
}

type Present = Omit<ChannelStates, 'channels' | 'isComplete'>;
type Row = Present & (ChannelState | { readonly channelId: null });

/**
 * Reads the epoch and the states of at most `countMax` channels of all organizations at one moment. If there
 * is no channel, the statement still returns one row, with the epoch.
 */
export async function readChannelStates(sql: Sql, countMax: number): Promise<ChannelStates> {
  const rows = await sql.query<Row>(
    `SELECT ledger_epoch.epoch, ledger_epoch.record, ledger_epoch.line, found.* FROM ledger_epoch
     LEFT JOIN LATERAL (
       SELECT apps.organization_id AS "organizationId", apps.id AS "appId", apps.ref AS "appRef",
         channels.id AS "channelId", channels.name AS channel, channels.revision
       FROM channels JOIN apps ON apps.id = channels.app_id ORDER BY channels.id LIMIT $1
     ) AS found ON TRUE`,
    [countMax + 1],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('The epoch of the ledger has no row');
  const channels = rows.flatMap((row) => (row.channelId === null ? [] : [stateOf(row)]));
  const isComplete = channels.length <= countMax;
  const { epoch, record, line } = first;
  const listed = isComplete ? channels : channels.slice(0, countMax);
  return { epoch, record, line, channels: listed, isComplete };
}

function stateOf({ epoch: _, record: __, line: ___, ...state }: Row & ChannelState): ChannelState {
  return state;
}

/**
 * Reads the epoch and the present revisions by channel id, in one consistent read; unknown channels are left
 * out. Nodes poll it.
 */
export async function readRevisions(
  sql: Sql,
  channelIds: readonly string[],
): Promise<PresentRevisions> {
  const ids = channelIds.filter((id) => isStorable(id));
  const rows = await sql.query<{ epoch: number; revisions: Record<string, number> }>(
    `SELECT present_epoch() AS epoch, (
       SELECT coalesce(json_object_agg(id, revision), '{}') FROM channels WHERE id = ANY ($1::text[])
     ) AS revisions`,
    [ids],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('The epoch of the ledger has no row');
  return { epoch: row.epoch, revisions: new Map(Object.entries(row.revisions)) };
}
