// Transaction that changes a channel's policy.

import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { ChannelChange } from '../ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import type { ChannelPolicy } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { findChannel } from './find-channel.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { findApp } from './lookups.ts';
import { recordChannelChange } from './record-channel-change.ts';

type Refusal = 'unknownApp' | 'unknownChannel' | 'followsInCircle';

/**
 * Stores the policy, the new revision and the audit entry in one transaction under the channel's lock. A
 * change that leaves the policy as it is writes nothing. A channel that is to be followed is locked as well:
 * a change of it either committed before, and is in what is served next, or finds the new follower.
 */
export function updateChannel(
  database: Database,
  appName: string,
  name: string,
  change: ChannelChange,
  actor: Actor,
  known?: KnownStates,
): Promise<Outcome<Changed<Channel>, Refusal | LostRight>> {
  return atomically<Changed<Channel>, Refusal>(database, actor, async (sql) => {
    const followed = await findFollowed(sql, appName, change.follows);
    if (isFailure(followed)) return followed;
    const channel = await lockChannel(sql, undefined, appName, name, known, followed?.id);
    if (isFailure(channel)) return channel;
    const before = policyOf(channel);
    const after = applyChange(before, change);
    const value = { app: channel.app.ref, name: channel.name, ...after };
    if (isSame(before, after)) return { value, changed: [] };
    if (followed !== undefined && (await leadsTo(sql, followed.id, channel.id))) {
      return fail('followsInCircle');
    }
    await storePolicy(sql, channel.id, after);
    const changed = await recordChannelChange(sql, channel, {
      action: 'channel.update',
      before,
      after,
    });
    return { value, changed };
  });
}

/**
 * Finds the channel that is to be followed; undefined when none is. Holds the app alone until the transaction
 * ends: no change meanwhile can overlook the new follower, and no two of these can close a circle together.
 */
async function findFollowed(sql: Sql, appName: string, follows: string | null | undefined) {
  if (follows === undefined || follows === null) return undefined;
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  await sql.query('SELECT FROM apps WHERE id = $1 FOR UPDATE', [app.id]);
  return findChannel(sql, app.id, follows);
}

/** Whether a channel is another one, or follows it, also through others. */
async function leadsTo(sql: Sql, from: string, to: string): Promise<boolean> {
  const rows = await sql.query(
    `WITH RECURSIVE way AS (
       SELECT id, follows FROM channels WHERE id = $1
       UNION SELECT next.id, next.follows FROM channels AS next JOIN way ON next.id = way.follows
     ) SELECT FROM way WHERE id = $2`,
    [from, to],
  );
  return rows.length > 0;
}

function policyOf(channel: LockedChannel): ChannelPolicy {
  const { minimumSupportedVersion, defaultRollout, updateMode, requireSignature, follows } =
    channel;
  return { minimumSupportedVersion, defaultRollout, updateMode, requireSignature, follows };
}

/**
 * Returns the policy after the change: null clears the minimum version and ends the following, undefined
 * leaves a field as it is.
 */
function applyChange(before: ChannelPolicy, change: ChannelChange): ChannelPolicy {
  const { minimumSupportedVersion, defaultRollout, updateMode, requireSignature, follows } = change;
  return {
    minimumSupportedVersion:
      minimumSupportedVersion === undefined
        ? before.minimumSupportedVersion
        : minimumSupportedVersion,
    defaultRollout: defaultRollout ?? before.defaultRollout,
    updateMode: updateMode ?? before.updateMode,
    requireSignature: requireSignature ?? before.requireSignature,
    follows: follows === undefined ? before.follows : follows,
  };
}

function isSame(before: ChannelPolicy, after: ChannelPolicy): boolean {
  return (
    before.minimumSupportedVersion === after.minimumSupportedVersion &&
    before.defaultRollout === after.defaultRollout &&
    before.updateMode === after.updateMode &&
    before.requireSignature === after.requireSignature &&
    before.follows === after.follows
  );
}

async function storePolicy(sql: Sql, id: string, policy: ChannelPolicy): Promise<void> {
  await sql.query(
    `UPDATE channels SET minimum_supported_version = $2, default_rollout = $3, update_mode = $4,
       require_signature = $5, follows = (
         SELECT followed.id FROM channels AS followed
         WHERE followed.app_id = channels.app_id AND followed.name = $6
       )
     WHERE id = $1`,
    [
      id,
      policy.minimumSupportedVersion,
      policy.defaultRollout,
      policy.updateMode,
      policy.requireSignature,
      policy.follows,
    ],
  );
}
