// Statement that locks a channel: the lock orders all changes of what the channel serves.

import { type Failure, fail, isFailure } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import { compareServing, type ServingOrder } from '../../domain/decision/serving-snapshot.ts';
import {
  FollowersNotAsked,
  type KnownState,
  type KnownStates,
  LedgerBehind,
} from '../known-state.ts';
import type { Reach } from '../reach.ts';
import { type ChannelPolicy, POLICY_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';
import { type FoundApp, findApp } from './lookups.ts';

export type LockedChannel = ChannelPolicy & {
  readonly id: string;
  readonly app: FoundApp;
  readonly name: string;
  /** Names of the channels that follow it, which are locked with it. */
  readonly followers: readonly string[];
};

type LockedRow = Omit<LockedChannel, 'app' | 'followers'>;

/**
 * Locks the channel's row and those of its followers until the transaction ends, and reads the channel as it
 * is once the locks are granted. They are always the first locks that a transaction takes, in the order of
 * ids, so that no two transactions can wait for each other; `beside` is the id of another channel to lock
 * with them. Rows that were read before it may be outdated; a statement after it sees everything that the
 * previous holder of the lock committed. Throws `LedgerBehind` when the ledger is behind what is known of one
 * of the channels, and `FollowersNotAsked` when `known` says nothing about a follower.
 */
export async function lockChannel(
  sql: Sql,
  reach: Reach | undefined,
  appName: string,
  name: string,
  known?: KnownStates,
  beside?: string,
): Promise<LockedChannel | Failure<'unknownApp' | 'unknownChannel'>> {
  const app = await findApp(sql, reach, appName);
  if (isFailure(app)) return app;
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<LockedRow>(
    `SELECT locked.id, locked.name, ${POLICY_COLUMNS}
     FROM lock_channel($1, $2, $3) AS locked JOIN channels ON channels.id = locked.id`,
    [app.id, name, beside ?? null],
  );
  const channel = rows.find((row) => row.name === name);
  if (channel === undefined) return fail('unknownChannel');
  if (known !== undefined) await refuseOlder(sql, rows, known);
  const followers = rows.filter((row) => row !== channel).map((row) => row.name);
  return { ...channel, app, followers };
}

async function refuseOlder(
  sql: Sql,
  locked: readonly LockedRow[],
  known: KnownStates,
): Promise<void> {
  const missing = locked.map(({ name }) => name).filter((name) => !known.has(name));
  if (missing.length > 0) throw new FollowersNotAsked(missing);
  for (const { id, name } of locked) {
    const state = known.get(name);
    if (state !== undefined && (await isBehind(sql, id, state))) throw new LedgerBehind(state);
  }
}

/** Whether the ledger is behind what is known of the channel, or lacks a mark of an offered release. */
async function isBehind(sql: Sql, channelId: string, known: KnownState): Promise<boolean> {
  // Another database has left what is known under the same name.
  if (known.channelId !== channelId) return false;
  // Few releases were never offered, and many were.
  const rows = await sql.query<ServingOrder & { readonly neverOffered: readonly string[] }>(
    `SELECT present_epoch() AS epoch, revision, (
       SELECT coalesce(json_agg(id), '[]'::json) FROM releases
       WHERE channel_id IN (channels.id, channels.follows) AND offered_at IS NULL
     ) AS "neverOffered" FROM channels WHERE id = $1`,
    [channelId],
  );
  const [present] = rows;
  if (present === undefined) return false;
  if (compareServing(present, known) < 0) return true;
  return known.offeredAmong(present.neverOffered).length > 0;
}
