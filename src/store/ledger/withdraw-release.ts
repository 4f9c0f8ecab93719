// Transaction that withdraws a release that nobody was offered.

import {
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { ReleaseStatus, Targeting, WithdrawnRelease } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { obstacleToWithdrawal, type WithdrawalObstacle } from '../../domain/release/withdrawal.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { atomically } from './atomically.ts';
import { columns, isoText } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { endPlan } from './follow-plan.ts';
import { lockChannel } from './lock-channel.ts';
import { recordChannelChange } from './record-channel-change.ts';
import { runningDevices } from './running-devices.ts';

/** Release as the audit keeps it. */
type FoundRelease = {
  readonly id: string;
  readonly version: string;
  readonly source: 'api' | 'webhook';
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  readonly createdAt: string;
  readonly artifacts: number;
};

const RELEASE = `SELECT ${columns<FoundRelease>({
  id: 'id',
  version: 'version',
  source: 'source',
  status: 'status',
  rolloutPct: 'rollout_pct',
  targets: 'targets',
  createdAt: isoText('created_at'),
  artifacts: '(SELECT count(*)::int FROM artifacts WHERE release_id = releases.id)',
})}, offered_at IS NOT NULL AS offered
  FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`;

/**
 * Removes the release, raises the revision and writes the audit entry in one transaction. It locks the
 * channel first, as serving control does: a first offer either committed before, and is seen here; or it
 * waits for this transaction, finds the revision moved, and is not made. Devices that run the release are
 * those on record when the lock is granted.
 */
export function withdrawRelease(
  database: Database,
  reach: Reach,
  name: ReleaseName,
  actor: Actor,
  reason?: string,
  known?: KnownStates,
): Promise<Outcome<Changed<WithdrawnRelease>, UnknownRelease | WithdrawalObstacle | LostRight>> {
  return atomically<Changed<WithdrawnRelease>, UnknownRelease | WithdrawalObstacle>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, reach, name.app, name.channel, known);
      if (isFailure(channel)) return channel;
      const found = await lockRelease(sql, channel.id, name.canonicalVersion);
      if (isFailure(found)) return found;
      const { offered, ...release } = found;
      const devices = await countRunning(sql, channel.id, name.canonicalVersion);
      const obstacle = obstacleToWithdrawal({ status: release.status, offered, devices });
      if (obstacle !== undefined) return obstacle;
      await endPlan(sql, channel, release);
      await remove(sql, release.id);
      if (release.source === 'webhook') await keepAway(sql, channel.id, name.canonicalVersion);
      const changed = await recordChannelChange(sql, channel, {
        action: 'release.withdraw',
        version: release.version,
        before: release,
        after: null,
        reason,
      });
      const { version } = release;
      return {
        value: { app: channel.app.ref, channel: channel.name, version },
        changed,
      };
    },
  );
}

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<(FoundRelease & { readonly offered: boolean }) | Failure<'unknownRelease'>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<FoundRelease & { offered: boolean }>(RELEASE, [
    channelId,
    canonicalVersion,
  ]);
  return rows[0] ?? fail('unknownRelease');
}

async function countRunning(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<number> {
  const [row] = await sql.query<{ devices: number }>(
    `SELECT ${runningDevices('$1', '$2')} AS devices`,
    [channelId, canonicalVersion],
  );
  return row?.devices ?? 0;
}

async function remove(sql: Sql, releaseId: string): Promise<void> {
  await sql.query('DELETE FROM artifacts WHERE release_id = $1', [releaseId]);
  await sql.query('DELETE FROM release_signals WHERE release_id = $1', [releaseId]);
  await sql.query('DELETE FROM release_failures WHERE release_id = $1', [releaseId]);
  await sql.query('DELETE FROM releases WHERE id = $1', [releaseId]);
}

async function keepAway(sql: Sql, channelId: string, canonicalVersion: string): Promise<void> {
  await sql.query(
    `INSERT INTO withdrawn_versions (channel_id, canonical_version) VALUES ($1, $2)
     ON CONFLICT DO NOTHING`,
    [channelId, canonicalVersion],
  );
}
