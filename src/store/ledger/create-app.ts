// Transaction that creates an app with its first channels.

import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { App } from '../../contract/resource.ts';
import type { Changed, ChannelRevision } from '../changed.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database, Sql } from './database.ts';
import { insertChannel } from './insert-channel.ts';
import { newId } from './new-id.ts';
import { organizationExists } from './organization-exists.ts';

export type NewApp = {
  readonly organizationId: string;
  readonly ref: string;
  readonly name: string;
  readonly channels: readonly string[];
};

/**
 * Stores the app, its channels and the audit entry in one transaction. Of several callers that ask for the
 * same ref at once, exactly one gets it. Channels keep the order in which they were given; repeated names
 * count once.
 */
export function createApp(
  database: Database,
  app: NewApp,
  actor: Actor,
): Promise<Outcome<Changed<App>, 'unknownOrganization' | 'refTaken' | LostRight>> {
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
 * Returns the new app's id, undefined when the ref is taken. A ref that equals another app's id counts as
 * taken: callers name an app by ref or id, and the new app would shadow the other one.
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
