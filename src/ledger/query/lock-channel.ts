// The lock that orders everything that changes what a channel serves.

import { type Failure, fail, isFailure } from '../../contract/failure.ts';
import type { ChannelUpdateMode } from '../../contract/resource.ts';
import type { ChannelRevision } from '../../ports/ledger.ts';
import type { Sql } from '../database.ts';
import { type FoundApp, findApp } from './find-app.ts';
import { isStorable } from './is-storable.ts';

export type LockedChannel = {
  readonly id: string;
  readonly app: FoundApp;
  readonly name: string;
  readonly minimumSupportedVersion: string | null;
  readonly defaultRollout: number;
  readonly updateMode: ChannelUpdateMode;
};

/**
 * Locks the channel's row until the transaction ends, and reads it as it is once the lock is had. It is
 * always the first lock that a transaction takes, so no two can wait for each other. What was read before
 * it may be old; a statement after it sees everything that the lock's last holder committed.
 */
export async function lockChannel(
  sql: Sql,
  organizationId: string | undefined,
  appName: string,
  name: string,
): Promise<LockedChannel | Failure> {
  const app = await findApp(sql, organizationId, appName);
  if (isFailure(app)) return app;
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<Omit<LockedChannel, 'app'>>(
    `SELECT id, name, minimum_supported_version AS "minimumSupportedVersion",
       default_rollout AS "defaultRollout", update_mode AS "updateMode"
     FROM channels WHERE app_id = $1 AND name = $2 FOR UPDATE`,
    [app.id, name],
  );
  return rows[0] === undefined ? fail('unknownChannel') : { ...rows[0], app };
}

/** Moves the channel on by one revision. Only under `lockChannel`, in the transaction of the change. */
export async function bumpRevision(sql: Sql, channel: LockedChannel): Promise<ChannelRevision> {
  const rows = await sql.query<{ revision: number }>(
    'UPDATE channels SET revision = revision + 1 WHERE id = $1 RETURNING revision',
    [channel.id],
  );
  const revision = rows[0]?.revision;
  if (revision === undefined) throw new Error(`Locked channel ${channel.id} has no row`);
  return { appRef: channel.app.ref, channel: channel.name, channelId: channel.id, revision };
}
