// A change of how a release is served.

import { type Failure, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { ServingState } from '../../contract/resource.ts';
import type { Serving } from '../../domain/serving.ts';
import type { Actor, Changed, ReleaseName } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { insertAudit } from './insert-audit.ts';
import { isStorable } from './is-storable.ts';
import { bumpRevision, type LockedChannel, lockChannel } from './lock-channel.ts';

type LockedRelease = Serving & { readonly id: string; readonly version: string };
type ServedParts = Omit<Serving, 'offered'>;

/**
 * One transaction under the channel's lock, then the release's: the serving state, the revision and the
 * audit, or none of them. A first offer either committed before the lock was had, and `transition` sees
 * it, or it waits for this transaction and finds the revision moved. A transition that changes nothing
 * writes nothing; whether the release was offered is never taken from it.
 */
export function controlServing(
  database: Database,
  organizationId: string,
  name: ReleaseName,
  transition: (serving: Serving) => Outcome<Serving>,
  actor: Actor,
): Promise<Outcome<Changed<ServingState>>> {
  return atomically(database, async (sql) => {
    const channel = await lockChannel(sql, organizationId, name.app, name.channel);
    if (isFailure(channel)) return channel;
    const release = await lockRelease(sql, channel.id, name.canonicalVersion);
    if (isFailure(release)) return release;
    const { offered, ...before } = servingOf(release);
    const outcome = transition({ ...before, offered });
    if (isFailure(outcome)) return outcome;
    const { offered: _, ...after } = servingOf(outcome);
    const value = stateOf(channel, release.version, after);
    if (isSame(before, after)) return { value, changed: [] };
    await storeServing(sql, release.id, after);
    const revision = await bumpRevision(sql, channel);
    await insertAudit(sql, {
      organizationId: channel.app.organizationId,
      actor,
      action: 'release.serve',
      subject: `${channel.app.ref}/${channel.name}@${release.version}`,
      before,
      after,
    });
    return { value, changed: [revision] };
  });
}

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<LockedRelease | Failure> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<LockedRelease>(
    `SELECT id, version, rollout_pct AS "rolloutPct", status, targets,
       offered_at IS NOT NULL AS offered
     FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`,
    [channelId, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}

function servingOf({ rolloutPct, status, targets, offered }: Serving): Serving {
  return { rolloutPct, status, targets, offered };
}

function stateOf(channel: LockedChannel, version: string, after: ServedParts): ServingState {
  const { rolloutPct, status, targets } = after;
  return { app: channel.app.ref, channel: channel.name, version, rolloutPct, status, targets };
}

/** Targeting by its text: what is answered is what was given, also in the order of its keys. */
function isSame(before: ServedParts, after: ServedParts): boolean {
  return (
    before.rolloutPct === after.rolloutPct &&
    before.status === after.status &&
    JSON.stringify(before.targets) === JSON.stringify(after.targets)
  );
}

async function storeServing(sql: Sql, id: string, after: ServedParts): Promise<void> {
  const { rolloutPct, status, targets } = after;
  await sql.query('UPDATE releases SET rollout_pct = $2, status = $3, targets = $4 WHERE id = $1', [
    id,
    rolloutPct,
    status,
    targets === null ? null : JSON.stringify(targets),
  ]);
}
