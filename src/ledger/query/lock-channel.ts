// Statement that locks a channel: the lock orders all changes of what the channel serves.

import { type Failure, fail, isFailure } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import { compareServing, type ServingOrder } from '../../domain/decision/serving-order.ts';
import { type KnownState, LedgerBehind } from '../../ports/known-state.ts';
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
 * the lock committed. Throws `LedgerBehind` when the ledger is behind what is known of the channel.
 */
export async function lockChannel(
  sql: Sql,
  organizationId: string | undefined,
  appName: string,
  name: string,
  known?: KnownState,
): Promise<LockedChannel | Failure<'unknownApp' | 'unknownChannel'>> {
  const app = await findApp(sql, organizationId, appName);
  if (isFailure(app)) return app;
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<Omit<LockedChannel, 'app'>>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND name = $2 FOR UPDATE`,
    [app.id, name],
  );
  const [channel] = rows;
  if (channel === undefined) return fail('unknownChannel');
  if (known !== undefined && (await isBehind(sql, channel.id, known)))
    throw new LedgerBehind(known);
  return { ...channel, app };
}

/** Whether the ledger is behind what is known of the channel, or lacks a mark of an offered release. */
async function isBehind(sql: Sql, channelId: string, known: KnownState): Promise<boolean> {
  // Another database has left what is known under the same name.
  if (known.channelId !== channelId) return false;
  // Few releases were never offered, and many were.
  const rows = await sql.query<ServingOrder & { readonly neverOffered: readonly string[] }>(
    `SELECT present_epoch() AS epoch, revision, (
       SELECT coalesce(json_agg(id), '[]'::json) FROM releases
       WHERE channel_id = $1 AND offered_at IS NULL
     ) AS "neverOffered" FROM channels WHERE id = $1`,
    [channelId],
  );
  const [present] = rows;
  if (present === undefined) return false;
  if (compareServing(present, known) < 0) return true;
  return known.offeredAmong(present.neverOffered).length > 0;
}
