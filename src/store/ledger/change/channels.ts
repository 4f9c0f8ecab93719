// SQL of channels: creation, lists, locks and revisions. Changes of their settings are in
// `channel-settings.ts`.

import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { Channel, ListedChannel } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { compareServing, type ServingOrder } from '../../../domain/decision/serving-snapshot.ts';
import type { ChannelState, ChannelStates } from '../../console-ledger.ts';
import type { ChannelName, ChannelNameList } from '../../engine.ts';
import {
  type Actor,
  type Changed,
  type ChannelPolicy,
  type ChannelRevision,
  FollowersNotAsked,
  type KnownState,
  type KnownStates,
  LedgerBehind,
  type OwnedApp,
  type PresentRevisions,
  type TenantScope,
} from '../../ledger-terms.ts';
import { newId, POLICY_COLUMNS } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { type ActorSql, atomically } from './atomically.ts';
import { insertAudit, type NewAuditEntry } from './audit.ts';
import { findApp, refuseArchived } from './lookups.ts';

export type LockedChannel = ChannelPolicy & {
  readonly id: string;
  readonly app: OwnedApp;
  readonly name: string;
  /** Names of the channels that follow it; they are locked too. */
  readonly followers: readonly string[];
};

type LockedRow = Omit<LockedChannel, 'app' | 'followers'>;

/**
 * Locks the channel's row and its followers' rows until the transaction ends, and reads the channel under the
 * locks. They are a transaction's first locks (but for an approval's request), in the order of ids, so that
 * transactions cannot deadlock; `beside` is the id of another channel to lock too. Rows read before may be
 * outdated; a later statement sees everything that the previous holder committed. Throws `LedgerBehind` when
 * the ledger is behind a known state, and `FollowersNotAsked` when `known` lacks a follower.
 */
export async function lockChannel(
  sql: Sql,
  scope: TenantScope | undefined,
  appName: string,
  name: string,
  known?: KnownStates,
  beside?: string,
): Promise<LockedChannel | Failure> {
  const app = await findApp(sql, scope, appName);
  if (isFailure(app)) return app;
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<LockedRow>(
    `SELECT locked.id, locked.name, ${POLICY_COLUMNS}
     FROM lock_channel($1, $2, $3) AS locked JOIN channels ON channels.id = locked.id`,
    [app.id, name, beside ?? null],
  );
  const channel = rows.find((row) => row.name === name);
  if (channel === undefined) return fail('unknownChannel');
  if (known !== undefined) await refuseOlder(sql, app, rows, known);
  const followers = rows.filter((row) => row !== channel).map((row) => row.name);
  return { ...channel, app, followers };
}

/** Locks all channels of an app as `lockChannel` locks one; returns them by name. */
export async function lockAllChannels(
  sql: Sql,
  app: OwnedApp,
  known: KnownStates | undefined,
): Promise<readonly LockedChannel[]> {
  await sql.query('SELECT FROM apps WHERE id = $1 FOR KEY SHARE', [app.id]);
  const locked = await sql.query<{ id: string }>(
    'SELECT id FROM channels WHERE app_id = $1 ORDER BY id FOR NO KEY UPDATE',
    [app.id],
  );
  const rows = await sql.query<LockedRow>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels WHERE id = ANY ($1::text[]) ORDER BY name`,
    [locked.map(({ id }) => id)],
  );
  if (known !== undefined) await refuseOlder(sql, app, rows, known);
  return rows.map((row) => ({
    ...row,
    app,
    followers: rows.filter(({ follows }) => follows === row.name).map(({ name }) => name),
  }));
}

async function refuseOlder(
  sql: Sql,
  { ref }: OwnedApp,
  locked: readonly LockedRow[],
  known: KnownStates,
): Promise<void> {
  const missing = locked.map(({ name }) => name).filter((name) => !known.has(name));
  if (missing.length > 0) throw new FollowersNotAsked(ref, missing);
  for (const { id, name } of locked) {
    const state = known.get(name);
    if (state !== undefined && (await isBehind(sql, id, state))) throw new LedgerBehind(state);
  }
}

/** Returns whether the ledger is behind the known state of a channel, or lacks a known mark of an offer. */
async function isBehind(sql: Sql, channelId: string, known: KnownState): Promise<boolean> {
  // The known state is that of another database's channel of the same name.
  if (known.channelId !== channelId) return false;
  // Compares the releases without the mark, because there are fewer of them.
  const rows = await sql.query<ServingOrder & { readonly neverOffered: readonly string[] }>(
    `SELECT present_epoch() AS epoch, revision, (
       SELECT coalesce(json_agg(id), '[]'::json) FROM releases
       WHERE channel_id IN (channels.id, channels.follows) AND offered_at IS NULL
     ) AS "neverOffered" FROM channels WHERE id = $1`,
    [channelId],
  );
  const [present] = rows;
  if (present === undefined) return false;
  if (compareServing(present, known) < 0) return true;
  return known.offeredAmong(present.neverOffered).length > 0;
}

type ChannelChangeEntry = Omit<NewAuditEntry, 'organizationId' | 'subject' | 'place'> & {
  /** Version of the changed release; undefined when the channel itself changes. */
  readonly version?: string;
};

/**
 * Raises the channel's revision by one, and its followers' when a release changes, and adds the audit entry.
 * Call it under `lockChannel`, in the transaction of the change. Returns the new state of each channel.
 */
export async function recordChannelChange(
  sql: ActorSql,
  channel: LockedChannel,
  { version, ...entry }: ChannelChangeEntry,
): Promise<readonly ChannelRevision[]> {
  const { id, app, name } = channel;
  const changed = await raiseRevisions(sql, app, [id], version !== undefined);
  const place = `${app.ref}/${name}`;
  const subject = version === undefined ? place : `${place}@${version}`;
  await insertAudit(sql, {
    ...entry,
    organizationId: app.organizationId,
    subject,
    place: { app, channel: name, version: version ?? null },
  });
  return changed;
}

/**
 * Raises the revisions of locked channels of an app by one, and, if releases have changed, those of all
 * channels that follow them; returns the new states of all of them.
 */
export async function raiseRevisions(
  sql: Sql,
  app: OwnedApp,
  channelIds: readonly string[],
  haveReleasesChanged: boolean,
): Promise<readonly ChannelRevision[]> {
  const rows = await sql.query<ServingOrder & { readonly id: string; readonly name: string }>(
    `UPDATE channels SET revision = revision + 1
     WHERE id = ANY ($1::text[])${haveReleasesChanged ? ' OR follows = ANY ($1::text[])' : ''}
     RETURNING id, name, present_epoch() AS epoch, revision`,
    [channelIds],
  );
  if (rows.length < channelIds.length) throw new Error(`Locked channels of ${app.id} have no rows`);
  return rows.map((row) => ({
    appRef: app.ref,
    channel: row.name,
    channelId: row.id,
    epoch: row.epoch,
    revision: row.revision,
  }));
}

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

/**
 * Returns the present states of locked channels and of their followers, because the node of a repeated call
 * may not have received what the first call changed.
 */
export function readChanged(
  sql: Sql,
  channels: readonly LockedChannel[],
): Promise<readonly ChannelRevision[]> {
  return sql.query<ChannelRevision>(
    `SELECT $2::text AS "appRef", name AS channel, id AS "channelId", present_epoch() AS epoch, revision
     FROM channels WHERE id = ANY ($1::text[]) OR follows = ANY ($1::text[])`,
    [channels.map(({ id }) => id), channels[0]?.app.ref],
  );
}
