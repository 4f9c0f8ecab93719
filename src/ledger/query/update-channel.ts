// A change of a channel's policy.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Actor, Changed, ChannelChange } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { insertAudit } from './insert-audit.ts';
import { bumpRevision, type LockedChannel, lockChannel } from './lock-channel.ts';

type Policy = Omit<Channel, 'app' | 'name'>;

/**
 * One transaction under the channel's lock: the policy, the revision and the audit. A change that leaves
 * everything as it is writes nothing.
 */
export function updateChannel(
  database: Database,
  appName: string,
  name: string,
  change: ChannelChange,
  actor: Actor,
): Promise<Outcome<Changed<Channel>>> {
  return atomically(database, async (sql) => {
    const channel = await lockChannel(sql, undefined, appName, name);
    if (isFailure(channel)) return channel;
    const before = policyOf(channel);
    const after = applyChange(before, change);
    const value = { app: channel.app.ref, name: channel.name, ...after };
    if (isSame(before, after)) return { value, changed: [] };
    await storePolicy(sql, channel.id, after);
    const revision = await bumpRevision(sql, channel);
    await insertAudit(sql, {
      organizationId: channel.app.organizationId,
      actor,
      action: 'channel.update',
      subject: `${channel.app.ref}/${channel.name}`,
      before,
      after,
    });
    return { value, changed: [revision] };
  });
}

function policyOf(channel: LockedChannel): Policy {
  const { minimumSupportedVersion, defaultRollout, updateMode } = channel;
  return { minimumSupportedVersion, defaultRollout, updateMode };
}

/** `null` clears the minimum version; undefined leaves a field. */
function applyChange(before: Policy, change: ChannelChange): Policy {
  const { minimumSupportedVersion, defaultRollout, updateMode } = change;
  return {
    minimumSupportedVersion:
      minimumSupportedVersion === undefined
        ? before.minimumSupportedVersion
        : minimumSupportedVersion,
    defaultRollout: defaultRollout ?? before.defaultRollout,
    updateMode: updateMode ?? before.updateMode,
  };
}

function isSame(before: Policy, after: Policy): boolean {
  return (
    before.minimumSupportedVersion === after.minimumSupportedVersion &&
    before.defaultRollout === after.defaultRollout &&
    before.updateMode === after.updateMode
  );
}

async function storePolicy(sql: Sql, id: string, policy: Policy): Promise<void> {
  await sql.query(
    `UPDATE channels SET minimum_supported_version = $2, default_rollout = $3, update_mode = $4
     WHERE id = $1`,
    [id, policy.minimumSupportedVersion, policy.defaultRollout, policy.updateMode],
  );
}
