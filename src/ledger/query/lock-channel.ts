// Statement that locks a channel: the lock orders all changes of what the channel serves.

import { type Failure, fail, isFailure } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { Sql } from '../database.ts';
import { type ChannelPolicy, POLICY_COLUMNS } from './column.ts';
import { type FoundApp, findApp } from './find-app.ts';

export type LockedChannel = ChannelPolicy & {
  readonly id: string;
  readonly app: FoundApp;
  readonly name: string;
};

/**
 * Locks the channel's row until the transaction ends, and reads it as it is once the lock is granted. It is
 * always the first lock that a transaction takes, so that no two transactions can wait for each other. Rows
 * that were read before it may be outdated; a statement after it sees everything that the previous holder of
 * the lock committed.
 */
export async function lockChannel(
  sql: Sql,
  organizationId: string | undefined,
  appName: string,
  name: string,
): Promise<LockedChannel | Failure<'unknownApp' | 'unknownChannel'>> {
  const app = await findApp(sql, organizationId, appName);
  if (isFailure(app)) return app;
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<Omit<LockedChannel, 'app'>>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND name = $2 FOR UPDATE`,
    [app.id, name],
  );
  return rows[0] === undefined ? fail('unknownChannel') : { ...rows[0], app };
}
