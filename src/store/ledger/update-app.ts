// Transaction that renames an app, archives it, or brings it back.

import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { AppState } from '../../contract/resource.ts';
import type { AppChange } from '../app-change.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { columns, isoText } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { findApp } from './lookups.ts';

const COLUMNS = columns<AppState>({
  id: 'id',
  ref: 'ref',
  name: 'name',
  archivedAt: isoText('archived_at'),
});

/**
 * Runs as one transaction that holds the app alone, which everything waits for that adds a release or a
 * channel to the app. What the app is already is not audited.
 */
export function updateApp(
  database: Database,
  appName: string,
  { name, archived }: AppChange,
  actor: Actor,
): Promise<Outcome<AppState, 'unknownApp' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const app = await findApp(sql, undefined, appName);
    if (isFailure(app)) return app;
    const before = await lockApp(sql, app.id);
    if (before === undefined) return fail('unknownApp');
    const [after = before] = await sql.query<AppState>(
      `UPDATE apps SET name = coalesce($2, name),
         archived_at = CASE $3::boolean WHEN true THEN coalesce(archived_at, clock_timestamp())
           WHEN false THEN NULL ELSE archived_at END
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [app.id, name ?? null, archived ?? null],
    );
    const [was, is] = [changed(before, after), changed(after, before)];
    if (Object.keys(is).length === 0) return after;
    await insertAudit(sql, {
      organizationId: app.organizationId,
      action: 'app.update',
      subject: app.ref,
      before: was,
      after: is,
    });
    return after;
  });
}

async function lockApp(sql: Sql, id: string): Promise<AppState | undefined> {
  const rows = await sql.query<AppState>(`SELECT ${COLUMNS} FROM apps WHERE id = $1 FOR UPDATE`, [
    id,
  ]);
  return rows[0];
}

/** Returns what one state has otherwise than the other, as the audit tells it. */
function changed(state: AppState, other: AppState): Readonly<Record<string, unknown>> {
  return {
    ...(state.name === other.name ? {} : { name: state.name }),
    ...((state.archivedAt === null) === (other.archivedAt === null)
      ? {}
      : { archived: state.archivedAt !== null }),
  };
}
