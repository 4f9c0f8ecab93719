// SQL that finds an app or a channel by name or id, and refuses an archived app.

import { type Failure, fail } from '../../../contract/failure.ts';
import type { Channel } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { type OwnedApp, scopeValues, type TenantScope } from '../../ledger-terms.ts';
import { POLICY_COLUMNS } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

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
