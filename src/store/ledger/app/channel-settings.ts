// SQL that changes the settings of channels.

import type { ChangedChannel } from '../../../contract/console.ts';
import type { Finding } from '../../../contract/dry-run.ts';
import { fail, isFailure } from '../../../contract/failure.ts';
import type { ListedChannel } from '../../../contract/resource.ts';
import { DDI_DEFAULTS, type DdiSettings } from '../../../contract/resource.ts';
import {
  minimumFindings,
  type ReachingRelease,
} from '../../../domain/release/finding/minimum-reach.ts';
import { openDoors } from '../../../domain/release/open-doors.ts';
import {
  type ChannelChange,
  type ChannelPolicy,
  type ChannelUpdate,
  changedBy,
} from '../../ledger-terms.ts';
import type { Change, LockedOne } from '../change/change.ts';
import {
  type FoundChannel,
  findApp,
  findChannel,
  type LockedChannel,
  lockChannel,
  recordChannelChange,
} from '../change/channels.ts';
import { recordingSettings } from '../change/exposure.ts';
import { jsonOrNull, POLICY_COLUMNS } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/**
 * Changes a channel's policy: stores it, the new revision and the audit entry in one transaction under the
 * channel's lock; a change without effect writes nothing. A channel to be followed must belong to the same
 * app and must not follow this one, directly or through others. The followed channel is locked as well: a
 * concurrent change of it has either committed before, or finds the new follower.
 */
export const UPDATE_CHANNEL: Change<ChannelUpdate, ChangedChannel, SettingsPlace> = {
  async lock(sql, { scope, input: { app, channel: name, change }, known }) {
    const followed = await findFollowed(sql, app, change.follows);
    if (isFailure(followed)) return followed;
    const channel = await lockChannel(sql, scope, app, name, known, followed?.id);
    return isFailure(channel) ? channel : { channel, channels: [channel], followed };
  },
  async work(sql, { channel, followed }, { input: { change } }) {
    const before = policyOf(channel);
    const after = changedBy(before, { ...change, ddi: ddiAfter(before.ddi, change.ddi) });
    const findings = [
      ...(await findOpenDoors(sql, channel, after)),
      ...(await findUnmetMinimum(sql, channel, after)),
    ];
    const value: ChangedChannel = {
      ...{ app: channel.app.ref, name: channel.name, ...after },
      ...(findings.length > 0 && { findings }),
    };
    if (JSON.stringify(after) === JSON.stringify(before)) return { value, changed: [] };
    if (followed !== undefined && (await leadsTo(sql, followed.id, channel.id))) {
      return fail('followsInCircle');
    }
    if (after.ddi !== null && !(await hasDdiAuth(sql, channel.app.id))) return fail('ddiNeedsAuth');
    const isNew = after.follows !== before.follows;
    const settings = { before, after, followed: isNew ? followed : undefined };
    const changed = await recordingSettings(sql, channel, settings, async () => {
      await storePolicy(sql, channel.id, after);
      return recordChannelChange(sql, channel, { action: 'channel.update', before, after });
    });
    return { value, changed };
  },
  answer: (channel) => channel,
  // The operator can help a service whose approvers are gone (docs/contract.md 33.4).
  neverWaitsFor: 'admin-token',
};

type SettingsPlace = LockedOne & { readonly followed: FoundChannel | undefined };

/**
 * Finds the channel to follow; undefined when there is none. Locks the app exclusively, so that no concurrent
 * change overlooks the new follower, and no two of them close a circle.
 */
async function findFollowed(sql: Sql, appName: string, follows: string | null | undefined) {
  if (follows === undefined || follows === null) return undefined;
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  await sql.query('SELECT FROM apps WHERE id = $1 FOR UPDATE', [app.id]);
  return findChannel(sql, app.id, follows);
}

/** Returns whether `from` is `to`, or follows it, directly or through others. */
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

/** Returns findings about ways around approvals that these settings of a locked channel leave open. */
async function findOpenDoors(
  sql: Sql,
  { id, app, name }: LockedChannel,
  { approvals, follows }: ChannelPolicy,
): Promise<readonly Finding[]> {
  const others = await sql.query<ListedChannel>(
    `SELECT name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND (name = $2 OR follows = $3) ORDER BY name`,
    [app.id, follows, id],
  );
  return openDoors({ name, approvals, follows }, others);
}

/** Returns a finding if devices below the minimum version of these settings get no release that meets it. */
async function findUnmetMinimum(
  sql: Sql,
  { id, app }: LockedChannel,
  { minimumSupportedVersion, follows }: ChannelPolicy,
): Promise<readonly Finding[]> {
  if (minimumSupportedVersion === null) return [];
  const releases = await sql.query<ReachingRelease>(
    `SELECT version, status, rollout_pct AS "rolloutPct", targets FROM releases
     WHERE status IN ('published', 'paused') AND (channel_id = $1 OR channel_id = (
       SELECT id FROM channels WHERE app_id = $2 AND name = $3
     ) AND NOT EXISTS (
       SELECT FROM releases AS own WHERE own.channel_id = $1
         AND own.canonical_version = releases.canonical_version
     ))`,
    [id, app.id, follows],
  );
  return minimumFindings({ minimumSupportedVersion, releases });
}

function ddiAfter(before: DdiSettings | null, change: ChannelChange['ddi']): DdiSettings | null {
  if (change === undefined || change === null) return change === null ? null : before;
  const from = before ?? DDI_DEFAULTS;
  return changedBy(from, { ...change, keys: changedBy(from.keys, change.keys ?? {}) });
}

/** Returns whether the app says how devices authenticate. It needs no lock, because it goes on to say so. */
async function hasDdiAuth(sql: Sql, appId: string): Promise<boolean> {
  const rows = await sql.query('SELECT FROM apps WHERE id = $1 AND ddi_auth IS NOT NULL', [appId]);
  return rows.length > 0;
}

function policyOf(channel: LockedChannel): ChannelPolicy {
  const { minimumSupportedVersion, defaultRollout, updateMode, requireSignature } = channel;
  const { follows, approvals, approvalDays, ddi } = channel;
  return {
    ...{ minimumSupportedVersion, defaultRollout, updateMode, requireSignature },
    ...{ follows, approvals, approvalDays, ddi },
  };
}

async function storePolicy(sql: Sql, id: string, policy: ChannelPolicy): Promise<void> {
  await sql.query(
    `UPDATE channels SET minimum_supported_version = $2, default_rollout = $3, update_mode = $4,
       require_signature = $5, approvals = $7, approval_days = $8, ddi = $9, follows = (
         SELECT followed.id FROM channels AS followed
         WHERE followed.app_id = channels.app_id AND followed.name = $6
       )
     WHERE id = $1`,
    [
      ...[id, policy.minimumSupportedVersion, policy.defaultRollout, policy.updateMode],
      ...[policy.requireSignature, policy.follows, policy.approvals, policy.approvalDays],
      jsonOrNull(policy.ddi),
    ],
  );
}
