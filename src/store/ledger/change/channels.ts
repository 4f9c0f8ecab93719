// SQL of channels that changes use: finds an app or a channel, locks channels, raises their revisions.

import { type Failure, fail, isFailure } from '../../../contract/failure.ts';
import type { Channel } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { compareServing, type ServingOrder } from '../../../domain/decision/serving-snapshot.ts';
import {
  type ChannelPolicy,
  type ChannelRevision,
  FollowersNotAsked,
  type KnownState,
  type KnownStates,
  LedgerBehind,
  type OwnedApp,
  scopeValues,
  type TenantScope,
} from '../../ledger-terms.ts';
import { POLICY_COLUMNS } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import type { ActorSql } from './atomically.ts';
import { insertAudit, type NewAuditEntry } from './audit.ts';

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

/**
 * Finds an app without a lock, because its ref and organization never change. An app outside the scope is
 * unknown; an undefined scope is the operator's, who sees all apps. A ref wins over another app's id.
 */
export async function findApp(
  sql: Sql,
  scope: TenantScope | undefined,
  app: string,
): Promise<OwnedApp | Failure> {
  const [organizationId, appIds] = scope === undefined ? [null, null] : scopeValues(scope);
  if (!isStorable(app, organizationId ?? '')) return fail('unknownApp');
  const rows = await sql.query<OwnedApp>(
    `SELECT id, ref, organization_id AS "organizationId" FROM apps
     WHERE ($1::text IS NULL OR organization_id = $1) AND ($3::text[] IS NULL OR id = ANY ($3))
       AND (ref = $2 OR id = $2)
     ORDER BY (ref = $2) DESC LIMIT 1`,
    [organizationId, app, appIds],
  );
  return rows[0] ?? fail('unknownApp');
}

export type FoundChannel = Omit<Channel, 'app'> & { readonly id: string };

/** Finds a channel of an app, without a lock. */
export async function findChannel(
  sql: Sql,
  appId: string,
  name: string,
): Promise<FoundChannel | Failure> {
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<FoundChannel>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND name = $2`,
    [appId, name],
  );
  return rows[0] ?? fail('unknownChannel');
}

/**
 * Refuses an archived app. Holds a shared lock on the app until the transaction ends, so that archiving waits
 * and the app gets nothing afterwards. KEY SHARE, so that a change of the app's webhooks delays no release.
 */
export async function refuseArchived(sql: Sql, appId: string): Promise<Failure | undefined> {
  const rows = await sql.query<{ isArchived: boolean }>(
    'SELECT archived_at IS NOT NULL AS "isArchived" FROM apps WHERE id = $1 FOR KEY SHARE',
    [appId],
  );
  return rows[0]?.isArchived === true ? fail('appArchived') : undefined;
}
