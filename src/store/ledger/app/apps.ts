// SQL of apps: creation, changes, lists and search.

import type { Found } from '../../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { App, AppState, Channel } from '../../../contract/resource.ts';
import { isStorable, storableText } from '../../../contract/text.ts';
import {
  type Actor,
  type AppUpdate,
  type Changed,
  type ChannelRevision,
  type OwnedApp,
  scopeValues,
  type TenantScope,
} from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAudit, organizationExists } from '../change/audit.ts';
import type { Change, Locked } from '../change/change.ts';
import { findApp, findChannel, lockAllChannels, raiseRevisions } from '../change/channels.ts';
import { columns, isoText, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertChannel } from './channels.ts';

type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

/**
 * Stores an app, its channels and the audit entry in one transaction. Refs are unique across organizations:
 * of several concurrent callers with one ref, exactly one gets it. Channels keep the given order; repeated
 * names count once.
 */
export function createApp(
  database: Database,
  app: NewApp,
  actor: Actor,
): Promise<Outcome<Changed<App>>> {
  return atomically(database, actor, async (sql) => {
    if (!(await organizationExists(sql, app.organizationId))) return fail('unknownOrganization');
    const id = await insertApp(sql, app);
    if (id === undefined) return fail('refTaken');
    const changed = await insertChannels(sql, { id, ref: app.ref }, app.channels);
    const channels = changed.map(({ channel }) => channel);
    const { organizationId, ref, name } = app;
    await insertAudit(sql, {
      organizationId,
      action: 'app.create',
      subject: ref,
      before: null,
      after: { id, ref, name, channels },
    });
    return { value: { id, name, ref, channels }, changed };
  });
}

/**
 * Returns the new app's id; undefined when the ref is taken. A ref that equals another app's id counts as
 * taken, because callers name an app by ref or id.
 */
async function insertApp(sql: Sql, app: NewApp): Promise<string | undefined> {
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO apps (id, organization_id, ref, name)
     SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM apps WHERE id = $3)
     ON CONFLICT (ref) DO NOTHING RETURNING id`,
    [newId('app'), app.organizationId, app.ref, app.name],
  );
  return rows[0]?.id;
}

async function insertChannels(
  sql: Sql,
  app: { readonly id: string; readonly ref: string },
  names: readonly string[],
): Promise<readonly ChannelRevision[]> {
  const changed: ChannelRevision[] = [];
  for (const name of new Set(names)) {
    const channel = await insertChannel(sql, app, name);
    if (channel !== undefined) changed.push(channel);
  }
  return changed;
}

const COLUMNS = columns<AppState>({
  id: 'id',
  ref: 'ref',
  name: 'name',
  archivedAt: isoText('archived_at'),
  ddiAuth: 'ddi_auth',
});

/** App that a change has locked, as it was. */
type AppPlace = Locked & { readonly app: OwnedApp; readonly before: AppState };

/**
 * Changes an app, given by ref or id, under an exclusive lock. Every transaction that adds a release or a
 * channel to the app waits for this lock. All channels serve `ddiAuth`: a change of it moves their revisions.
 * A change without effect writes no audit entry.
 */
export const UPDATE_APP: Change<AppUpdate, AppState, AppPlace> = {
  async lock(sql, { scope, input: { app: name, change }, known }) {
    const app = await findApp(sql, scope, name);
    if (isFailure(app)) return app;
    const before = await lockApp(sql, app.id);
    if (before === undefined) return fail('unknownApp');
    const channels = change.ddiAuth === undefined ? [] : await lockAllChannels(sql, app, known);
    return { app, before, channels };
  },
  async work(sql, { app, before, channels }, { input: { change } }) {
    const [after = before] = await sql.query<AppState>(
      `UPDATE apps SET name = coalesce($2, name),
         archived_at = CASE $3::boolean WHEN true THEN coalesce(archived_at, clock_timestamp())
           WHEN false THEN NULL ELSE archived_at END,
         ddi_auth = coalesce($4, ddi_auth)
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [app.id, change.name ?? null, change.archived ?? null, change.ddiAuth ?? null],
    );
    const [was, is] = [changed(before, after), changed(after, before)];
    if (Object.keys(is).length === 0) return { value: after, changed: [] };
    await insertAudit(sql, {
      organizationId: app.organizationId,
      action: 'app.update',
      subject: app.ref,
      before: was,
      after: is,
    });
    const isServed = after.ddiAuth !== before.ddiAuth;
    const ids = channels.map(({ id }) => id);
    return { value: after, changed: isServed ? await raiseRevisions(sql, app, ids, false) : [] };
  },
  answer: (app) => app,
};

async function lockApp(sql: Sql, id: string): Promise<AppState | undefined> {
  const rows = await sql.query<AppState>(`SELECT ${COLUMNS} FROM apps WHERE id = $1 FOR UPDATE`, [
    id,
  ]);
  return rows[0];
}

/** Returns the fields of a state that differ from the other, as the audit shows them. */
function changed(state: AppState, other: AppState): Readonly<Record<string, unknown>> {
  return {
    ...(state.name === other.name ? {} : { name: state.name }),
    ...((state.archivedAt === null) === (other.archivedAt === null)
      ? {}
      : { archived: state.archivedAt !== null }),
    ...(state.ddiAuth === other.ddiAuth ? {} : { ddiAuth: state.ddiAuth }),
  };
}

const APP_COLUMNS = columns<App>({
  id: 'id',
  name: 'name',
  ref: 'ref',
  channels: `(
    SELECT coalesce(json_agg(channels.name ORDER BY channels.name), '[]'::json)
    FROM channels WHERE channels.app_id = apps.id
  )`,
});

/** Returns apps by ref, each with its channels by name, in one consistent read. */
export async function listApps(sql: Sql, scope: TenantScope): Promise<readonly App[]> {
  const [organizationId, appIds] = scopeValues(scope);
  if (!isStorable(organizationId)) return [];
  return sql.query<App>(
    `SELECT ${APP_COLUMNS} FROM apps
     WHERE organization_id = $1 AND ($2::text[] IS NULL OR id = ANY ($2)) ORDER BY ref`,
    [organizationId, appIds],
  );
}

/** Apps whose ref or name contains the text; those whose ref begins with it come first. */
const SEARCH_ORGANIZATION_APPS = `
  SELECT ref, name FROM apps
  WHERE organization_id = $1
    AND (strpos(lower(ref), lower($2)) > 0 OR strpos(lower(name), lower($2)) > 0)
  ORDER BY NOT starts_with(lower(ref), lower($2)), ref LIMIT ${LIMIT.foundMax}`;

/** Releases whose version begins with the text, newest first; one that equals the text comes first. */
const RELEASES = `
  SELECT apps.ref AS app, channels.name AS channel, releases.version, releases.status,
    releases.rollout_pct AS "rolloutPct"
  FROM apps
  JOIN channels ON channels.app_id = apps.id
  JOIN releases ON releases.channel_id = channels.id
  WHERE apps.organization_id = $1 AND starts_with(releases.version, $2)
  ORDER BY releases.version <> $2, releases.created_at DESC, apps.ref, channels.name
  LIMIT ${LIMIT.foundMax}`;

/**
 * Devices whose id begins with the text. Ids are compared by bytes, so that the primary key finds them; $3 is
 * above every text that begins with $2.
 */
const DEVICES = `
  SELECT apps.ref AS app, found.device_id AS "deviceId"
  FROM (SELECT id, ref FROM apps WHERE organization_id = $1 ORDER BY ref LIMIT ${LIMIT.appsShownMax}) AS apps
  CROSS JOIN LATERAL (
    SELECT device_id FROM devices
    WHERE devices.app_id = apps.id AND device_id >= $2 AND device_id < $3
    ORDER BY device_id LIMIT ${LIMIT.foundMax}
  ) AS found
  ORDER BY found.device_id, apps.ref LIMIT ${LIMIT.foundMax}`;

const HIGHEST = '\u{10ffff}';

/**
 * Searches apps, releases and devices of an organization; returns at most `LIMIT.foundMax` of each kind. A
 * version matches with and without a leading `v`.
 */
export async function searchOrganization(
  sql: Sql,
  organizationId: string,
  text: string,
): Promise<Found> {
  const wanted = storableText(text);
  const version = wanted.replace(/^v(?=\d)/i, '');
  return {
    apps: await sql.query(SEARCH_ORGANIZATION_APPS, [organizationId, wanted]),
    releases: await sql.query(RELEASES, [organizationId, version]),
    devices: await sql.query(DEVICES, [organizationId, wanted, `${wanted}${HIGHEST}`]),
  };
}

type FindReleaseAppsRow = { readonly id: string; readonly appId: string };

/** Returns the app id of each of these releases, by release id; unknown releases are left out. */
export async function findReleaseApps(
  sql: Sql,
  releaseIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = releaseIds.filter((id) => isStorable(id));
  const rows = await sql.query<FindReleaseAppsRow>(
    `SELECT releases.id, channels.app_id AS "appId"
     FROM releases JOIN channels ON channels.id = releases.channel_id
     WHERE releases.id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map(({ id, appId }) => [id, appId]));
}

/** Returns the channel's policy as the contract shows it. */
export async function readChannel(
  sql: Sql,
  app: { readonly id: string; readonly ref: string },
  name: string,
): Promise<Outcome<Channel>> {
  const channel = await findChannel(sql, app.id, name);
  if (isFailure(channel)) return channel;
  const { id: _, ...policy } = channel;
  return { app: app.ref, ...policy };
}
