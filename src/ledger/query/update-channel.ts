// Transaction that changes a channel's policy.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Changed } from '../../ports/changed.ts';
import type { KnownState } from '../../ports/known-state.ts';
import type { ChannelChange } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import type { ChannelPolicy } from './column.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { recordChannelChange } from './record-channel-change.ts';

/**
 * Stores the policy, the new revision and the audit entry in one transaction under the channel's lock. A
 * change that leaves the policy as it is writes nothing.
 */
export function updateChannel(
  database: Database,
  appName: string,
  name: string,
  change: ChannelChange,
  actor: Actor,
  known?: KnownState,
): Promise<Outcome<Changed<Channel>, 'unknownApp' | 'unknownChannel' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const channel = await lockChannel(sql, undefined, appName, name, known);
    if (isFailure(channel)) return channel;
    const before = policyOf(channel);
    const after = applyChange(before, change);
    const value = { app: channel.app.ref, name: channel.name, ...after };
    if (isSame(before, after)) return { value, changed: [] };
    await storePolicy(sql, channel.id, after);
    const revision = await recordChannelChange(sql, channel, {
      action: 'channel.update',
      before,
      after,
    });
    return { value, changed: [revision] };
  });
}

function policyOf(channel: LockedChannel): ChannelPolicy {
  const { minimumSupportedVersion, defaultRollout, updateMode, requireSignature } = channel;
  return { minimumSupportedVersion, defaultRollout, updateMode, requireSignature };
}

/**
 * Returns the policy after the change: null clears the minimum version, undefined leaves a field as it is.
 */
function applyChange(before: ChannelPolicy, change: ChannelChange): ChannelPolicy {
  const { minimumSupportedVersion, defaultRollout, updateMode, requireSignature } = change;
  return {
    minimumSupportedVersion:
      minimumSupportedVersion === undefined
        ? before.minimumSupportedVersion
        : minimumSupportedVersion,
    defaultRollout: defaultRollout ?? before.defaultRollout,
    updateMode: updateMode ?? before.updateMode,
    requireSignature: requireSignature ?? before.requireSignature,
  };
}

function isSame(before: ChannelPolicy, after: ChannelPolicy): boolean {
  return (
    before.minimumSupportedVersion === after.minimumSupportedVersion &&
    before.defaultRollout === after.defaultRollout &&
    before.updateMode === after.updateMode &&
    before.requireSignature === after.requireSignature
  );
}

async function storePolicy(sql: Sql, id: string, policy: ChannelPolicy): Promise<void> {
  await sql.query(
    `UPDATE channels SET minimum_supported_version = $2, default_rollout = $3, update_mode = $4,
       require_signature = $5
     WHERE id = $1`,
    [
      id,
      policy.minimumSupportedVersion,
      policy.defaultRollout,
      policy.updateMode,
      policy.requireSignature,
    ],
  );
}
