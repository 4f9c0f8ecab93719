// SQL that finds an app or a channel by name or id, and refuses what is archived.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { scopeValues, type TenantScope } from '../ledger-terms.ts';
import { POLICY_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';

export type FoundApp = {
  readonly id: string;
  readonly ref: string;
  readonly organizationId: string;
};

/**
 * Reads without a lock, because an app never changes its ref or organization. Apps beyond the scope are
 * unknown; undefined is for the operator, who sees all apps. If a ref ever
 * equals another app's id (`createApp` refuses that), the ref wins, so that the answer is always the same.
 */
export async function findApp(
  sql: Sql,
  scope: TenantScope | undefined,
  app: string,
): Promise<FoundApp | Failure<'unknownApp'>> {
  const [organizationId, appIds] = scope === undefined ? [null, null] : scopeValues(scope);
  if (!isStorable(app, organizationId ?? '')) return fail('unknownApp');
  const rows = await sql.query<FoundApp>(
    `SELECT id, ref, organization_id AS "organizationId" FROM apps
     WHERE ($1::text IS NULL OR organization_id = $1) AND ($3::text[] IS NULL OR id = ANY ($3))
       AND (ref = $2 OR id = $2)
     ORDER BY (ref = $2) DESC LIMIT 1`,
    [organizationId, app, appIds],
  );
  return rows[0] ?? fail('unknownApp');
}

// Statement that finds a channel of an app by its name.

type FoundChannel = Omit<Channel, 'app'> & { readonly id: string };

/** Reads the channel without a lock. */
export async function findChannel(
  sql: Sql,
  appId: string,
  name: string,
): Promise<FoundChannel | Failure<'unknownChannel'>> {
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<FoundChannel>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND name = $2`,
    [appId, name],
  );
  return rows[0] ?? fail('unknownChannel');
}

// Statement that refuses to add anything to an app that is archived.

/**
 * Refuses an archived app. Holds the app together with others until the transaction ends, as the lock of a
 * channel does: who archives the app meanwhile waits for it, and the app gets nothing after that. The lock
 * is the weakest there is, so that a change of the app's webhooks keeps no release waiting.
 */
export async function refuseArchived(
  sql: Sql,
  appId: string,
): Promise<Failure<'appArchived'> | undefined> {
  const rows = await sql.query<{ isArchived: boolean }>(
    'SELECT archived_at IS NOT NULL AS "isArchived" FROM apps WHERE id = $1 FOR KEY SHARE',
    [appId],
  );
  return rows[0]?.isArchived === true ? fail('appArchived') : undefined;
}
