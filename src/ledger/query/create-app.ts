// A new app with its first channels.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { App } from '../../contract/resource.ts';
import type { Actor, Changed, ChannelRevision } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertAudit } from './insert-audit.ts';
import { insertChannel } from './insert-channel.ts';
import { organizationExists } from './organization-exists.ts';

export type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

/**
 * One transaction: the app, its channels and the audit, or none of them. Of several callers at once with
 * the same ref exactly one gets it. Channels keep the order they were given in; repeated names count once.
 */
export function createApp(
  database: Database,
  app: NewApp,
  actor: Actor,
): Promise<Outcome<Changed<App>>> {
  return atomically(database, async (sql) => {
    if (!(await organizationExists(sql, app.organizationId))) return fail('unknownOrganization');
    const id = await insertApp(sql, app);
    if (id === undefined) return fail('refTaken');
    const changed = await insertChannels(sql, { id, ref: app.ref }, app.channels);
    const channels = changed.map(({ channel }) => channel);
    const { organizationId, ref, name } = app;
    await insertAudit(sql, {
      organizationId,
      actor,
      action: 'app.create',
      subject: ref,
      before: null,
      after: { id, ref, name, channels },
    });
    return { value: { id, name, ref, channels }, changed };
  });
}

/**
 * Undefined when the ref is taken. A ref that is another app's id is taken too: callers name an app by
 * either, and this one would shadow the other.
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
