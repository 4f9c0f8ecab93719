// Transaction that creates a channel on an app.

import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Changed } from '../changed.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { type ChannelPolicy, POLICY_COLUMNS } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { insertChannel } from './insert-channel.ts';
import { findApp } from './lookups.ts';
import { refuseArchived } from './refuse-archived.ts';

/**
 * Stores the channel and the audit entry in one transaction. Of several callers that create the same name at
 * once, exactly one succeeds.
 */
export function createChannel(
  database: Database,
  appName: string,
  name: string,
  actor: Actor,
): Promise<Outcome<Changed<Channel>, 'unknownApp' | 'channelExists' | 'appArchived' | LostRight>> {
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

/** Reads the policy of a new channel back, because only the schema knows the defaults. */
async function readPolicy(sql: Sql, id: string): Promise<ChannelPolicy> {
  const rows = await sql.query<ChannelPolicy>(
    `SELECT ${POLICY_COLUMNS} FROM channels WHERE id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`New channel ${id} has no row`);
  return rows[0];
}
