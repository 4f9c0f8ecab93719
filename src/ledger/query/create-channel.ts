// A new channel on an app.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Actor, Changed } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { findApp } from './find-app.ts';
import { insertAudit } from './insert-audit.ts';
import { insertChannel } from './insert-channel.ts';

/** One transaction: the channel and the audit. Of several callers at once with the same name one gets it. */
export function createChannel(
  database: Database,
  appName: string,
  name: string,
  actor: Actor,
): Promise<Outcome<Changed<Channel>>> {
  return atomically(database, async (sql) => {
    const app = await findApp(sql, undefined, appName);
    if (isFailure(app)) return app;
    const revision = await insertChannel(sql, app, name);
    if (revision === undefined) return fail('channelExists');
    const policy = await readPolicy(sql, revision.channelId);
    await insertAudit(sql, {
      organizationId: app.organizationId,
      actor,
      action: 'channel.create',
      subject: `${app.ref}/${name}`,
      before: null,
      after: policy,
    });
    return { value: { app: app.ref, name, ...policy }, changed: [revision] };
  });
}

/** The defaults stand in the schema alone. */
async function readPolicy(sql: Sql, id: string): Promise<Omit<Channel, 'app' | 'name'>> {
  const rows = await sql.query<Omit<Channel, 'app' | 'name'>>(
    `SELECT minimum_supported_version AS "minimumSupportedVersion",
       default_rollout AS "defaultRollout", update_mode AS "updateMode"
     FROM channels WHERE id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`New channel ${id} has no row`);
  return rows[0];
}
