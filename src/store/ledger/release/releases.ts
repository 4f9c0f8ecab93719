// SQL that publishes, promotes and withdraws releases, each in one transaction with its audit entry and its
// idempotency key.

import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Release, WithdrawnRelease } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { SnapshotRelease } from '../../../domain/decision/serving-snapshot.ts';
import { obstacleToWithdrawal } from '../../../domain/release/serving-change.ts';
import { guardFindings } from '../../../domain/rollout/plan-findings.ts';
import type {
  Actor,
  Changed,
  Concern,
  NewArtifact,
  NewPromotion,
  NewRelease,
  ReleaseName,
} from '../../ledger-terms.ts';
import type { ActorSql } from '../change/atomically.ts';
import { type Change, type LockedOne, lockOne } from '../change/change.ts';
import { type LockedChannel, recordChannelChange, refuseArchived } from '../change/channels.ts';
import {
  defaultRolloutOf,
  recordReleaseExposure,
  recordSourceExposure,
} from '../change/exposure.ts';
import { endPlan, findPlan } from '../change/plan-rows.ts';
import { ALL_ARTIFACTS_JSON, columns, isoText, jsonOrNull, newId } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { countKnown } from '../rollout/count-known.ts';
import { plan } from '../rollout/rollout-plans.ts';
import { signalTaking } from '../rollout/rollout-signals.ts';
import { REPEATS } from './idempotency-keys.ts';
import { type PromotionSource, readPromotionSource } from './promotion-source.ts';
import { readRelease, runningDevices } from './release-reads.ts';

/** Parts of a publishing transaction that differ for a promotion. */
type Publishing = {
  /** Refusal because of the source's state. */
  readonly refusal?: Failure | undefined;
  readonly audit: {
    readonly action: 'release.publish' | 'release.promote';
    /** Channel that the release was promoted from. */
    readonly from?: string;
    readonly reason?: string | undefined;
  };
};

/**
 * Publishes a release: stores it with its artifacts, the new revision and the audit entry in one transaction
 * under the channel's lock, which orders publishing: of several releases with one canonical version, one is
 * stored. Refuses a version that the channel has, a full channel (§8), and a code host's announcement of a
 * withdrawn version. A repeated call (`RepeatableCall`) changes nothing and returns what the first one
 * published.
 */
export const PUBLISH: Change<NewRelease, Release, LockedOne> = {
  lock: (sql, call) => lockOne(sql, call, call.input),
  work: (sql, { channel }, { input }) => publishOn(sql, channel, input),
  answer: (release) => ({ release }),
  repeats: REPEATS,
  preview: {
    canonicalVersion: ({ canonicalVersion }) => canonicalVersion,
    tell: async (sql, _, __, release) => ({ last: await guardConcerns(sql, release) }),
  },
};

/** Returns warnings about what the guards of a new release's plan cannot do; none without guards. */
async function guardConcerns(sql: Sql, { id }: Release): Promise<readonly Concern[]> {
  const row = await findPlan(sql, id);
  if (row === undefined || row.state.guards === null) return [];
  const known = await countKnown(sql, id, signalTaking(row.state.guards));
  const findings = guardFindings(row.state, { known });
  return findings.map(({ path, message }) => ({ path: `plan.${path}`, message }));
}

/** Publishes a release on a locked channel. */
export async function publishOn(
  sql: ActorSql,
  channel: LockedChannel,
  release: NewRelease,
  { refusal, audit }: Publishing = { audit: { action: 'release.publish' } },
): Promise<Outcome<Changed<Release>>> {
  const archived = await refuseArchived(sql, channel.app.id);
  if (archived !== undefined) return archived;
  const refused = refusal ?? (await settleWithdrawal(sql, channel.id, release.canonicalVersion));
  if (refused !== undefined) return refused;
  const { version, status, targets, artifacts } = release;
  const named = release.plan === undefined ? release.rolloutPct : 0;
  const rolloutPct = named ?? defaultRolloutOf(sql, channel);
  await recordReleaseExposure(
    sql,
    channel,
    { id: '', version },
    {
      before: null,
      after: { status, rolloutPct, targets },
      isByDefault: named === undefined,
      isPlanned: release.plan !== undefined,
    },
  );
  const id = await insertRelease(sql, channel.id, { ...release, rolloutPct }, sql.actor);
  if (id === undefined) return fail('versionExists');
  await insertArtifacts(sql, id, artifacts);
  const full = await refuseFullChannel(sql, channel.id);
  if (full !== undefined) return full;
  const { action, from, reason } = audit;
  const after = { version, status, rolloutPct, targets, artifacts: artifacts.length };
  const changed = await recordChannelChange(sql, channel, {
    action,
    version,
    before: null,
    after: from === undefined ? after : { ...after, from },
    reason,
  });
  if (release.plan !== undefined) {
    const planned = { status, rolloutPct, wasPublished: status === 'published' };
    const refused = await plan(sql, channel, { id, version }, planned, release.plan);
    if (isFailure(refused)) throw new Error(`A new release can have no plan: ${refused.message}`);
  }
  return { value: await readRelease(sql, id), changed };
}

/**
 * Refuses a withdrawn version to the code host that announces it again; publishing by any other actor ends
 * the withdrawal.
 */
async function settleWithdrawal(
  sql: ActorSql,
  channelId: string,
  canonicalVersion: string,
): Promise<Failure | undefined> {
  const ofVersion = 'withdrawn_versions WHERE channel_id = $1 AND canonical_version = $2';
  const values = [channelId, canonicalVersion];
  if (sql.actor.kind === 'integration') {
    const rows = await sql.query(`SELECT FROM ${ofVersion}`, values);
    return rows.length === 0 ? undefined : fail('versionWithdrawn');
  }
  await sql.query(`DELETE FROM ${ofVersion}`, values);
  return undefined;
}

type ResolvedRelease = NewRelease & { readonly rolloutPct: number };

/** Returns the new release's id; undefined if the channel has the version already. */
async function insertRelease(
  sql: Sql,
  channelId: string,
  release: ResolvedRelease,
  actor: Actor,
): Promise<string | undefined> {
  const { version, canonicalVersion, notes, status, rolloutPct, targets, hold } = release;
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO releases
       (id, channel_id, version, canonical_version, notes, status, rollout_pct, targets, source, hold)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (channel_id, canonical_version) DO NOTHING RETURNING id`,
    [
      newId('rel'),
      channelId,
      version,
      canonicalVersion,
      notes,
      status,
      rolloutPct,
      jsonOrNull(targets),
      actor.kind === 'integration' ? 'webhook' : 'api',
      hold ?? null,
    ],
  );
  return rows[0]?.id;
}

type PromotionPlace = LockedOne & { readonly source: PromotionSource };

/**
 * Publishes a release of one channel on another, with the same version, notes and artifacts, under the lock
 * of the target channel. Refuses a source that is rolled back or deprecated, a paused or unhealthy one unless
 * the promotion says how to roll it out, and whatever `PUBLISH` refuses.
 */
export const PROMOTE: Change<NewPromotion, Release, PromotionPlace> = {
  async lock(sql, call) {
    const { app, to, ...promotion } = call.input;
    const place = await lockOne(sql, call, { app, channel: to });
    if (isFailure(place)) return place;
    const source = await readPromotionSource(sql, place.channel.app.id, promotion);
    return isFailure(source) ? source : { ...place, source };
  },
  work(sql, { channel, source: { content, refusal, state } }, { input, reason }) {
    const { app, from, to, canonicalVersion, ...serving } = input;
    recordSourceExposure(sql, from, content.version, state);
    const release = { ...serving, ...content, app, channel: to, canonicalVersion };
    const audit = { action: 'release.promote', from, reason } as const;
    return publishOn(sql, channel, release, { refusal, audit });
  },
  answer: (release) => ({ release }),
  repeats: REPEATS,
  preview: {
    canonicalVersion: ({ canonicalVersion }) => canonicalVersion,
    tell: async (sql, { source }, __, release) => ({
      first: source.concerns.map((message) => ({ path: 'from', message })),
      last: await guardConcerns(sql, release),
    }),
  },
};

/** Release as the audit stores it. */
type FoundRelease = Omit<
  SnapshotRelease,
  'edition' | 'offered' | 'followed' | 'artifacts' | 'number' | 'retriedAt'
> & {
  readonly source: 'api' | 'webhook';
  readonly artifacts: readonly NewArtifact[];
};

const RELEASE = `SELECT ${columns<FoundRelease>({
  id: 'id',
  version: 'version',
  source: 'source',
  status: 'status',
  rolloutPct: 'rollout_pct',
  targets: 'targets',
  createdAt: isoText('created_at'),
  notes: 'notes',
  artifacts: ALL_ARTIFACTS_JSON,
})}, offered_at IS NOT NULL AS offered
  FROM releases WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`;

/**
 * Removes a release that was never offered, that no recorded device runs, and that is not rolled back; its
 * version is free again. A version that a code host announced cannot be announced again until another actor
 * has published it.
 *
 * Removes the release, raises the revision and writes the audit entry in one transaction. Locks the channel
 * first: a first offer has either committed before and is seen here, or waits, finds the revision moved, and
 * is not made. Counts the devices that run the release under that lock.
 */
export const WITHDRAW: Change<ReleaseName, WithdrawnRelease, LockedOne> = {
  lock: (sql, call) => lockOne(sql, call, call.input),
  async work(sql, { channel }, { input: { canonicalVersion }, reason }) {
    const found = await lockRelease(sql, channel.id, canonicalVersion);
    if (isFailure(found)) return found;
    const { offered, ...release } = found;
    const devices = await countRunning(sql, channel.id, canonicalVersion);
    const obstacle = obstacleToWithdrawal({ status: release.status, offered }, devices);
    if (obstacle !== undefined) return obstacle;
    await endPlan(sql, channel, release);
    await remove(sql, release.id);
    if (release.source === 'webhook') await keepAway(sql, channel.id, canonicalVersion);
    const { version } = release;
    const entry = { action: 'release.withdraw', before: release, after: null } as const;
    const changed = await recordChannelChange(sql, channel, { ...entry, version, reason });
    return { value: { app: channel.app.ref, channel: channel.name, version }, changed };
  },
  answer: (release) => ({ release }),
};

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<(FoundRelease & { readonly offered: boolean }) | Failure> {
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

/** Inserts all artifacts of a release in one statement; absent fields become null. */
export async function insertArtifacts(
  sql: Sql,
  releaseId: string,
  artifacts: readonly NewArtifact[],
): Promise<void> {
  if (artifacts.length === 0) return;
  await sql.query(
    `INSERT INTO artifacts
       (release_id, position, platform, arch, url, sha512, size, signature, sha256, format,
        given_sha256, sha1, minimum_system_version, build_version)
     SELECT $1, item.position - 1, item.platform, item.arch, item.url, item.sha512, item.size,
       item.signature, item.digest, item.format, item.sha256, item.sha1,
       item."minimumSystemVersion", item."buildVersion"
     FROM ROWS FROM (
       json_to_recordset($2::json) AS (
         platform text, arch text, url text, sha512 text, size bigint, signature text,
         digest text, format text, sha256 text, sha1 text, "minimumSystemVersion" text,
         "buildVersion" text
       )
     ) WITH ORDINALITY
       AS item (platform, arch, url, sha512, size, signature, digest, format, sha256, sha1,
         "minimumSystemVersion", "buildVersion", position)`,
    [releaseId, JSON.stringify(artifacts)],
  );
}

const BYTES_PER_MIB = 1024 * 1024;

/**
 * Refuses a change after which a channel exceeds its limits (§8), which keep each channel cheap to serve.
 * Call it under `lockChannel`, after the change; the refusal rolls back.
 */
export async function refuseFullChannel(sql: Sql, channelId: string): Promise<Failure | undefined> {
  const rows = await sql.query<{ releases: number; bytes: number }>(
    `SELECT release_count AS releases, content_bytes::float8 AS bytes FROM channels WHERE id = $1`,
    [channelId],
  );
  const { releases = 0, bytes = 0 } = rows[0] ?? {};
  if (releases > LIMIT.channelReleasesMax) {
    return fail(
      'channelFull',
      `The channel has ${LIMIT.channelReleasesMax} releases, and a channel can have no more: ` +
        'publish on another channel',
    );
  }
  if (bytes <= LIMIT.channelContentBytesMax) return undefined;
  return fail(
    'channelFull',
    `The notes and artifacts of the channel's releases may have ` +
      `${LIMIT.channelContentBytesMax / BYTES_PER_MIB} MiB together: publish on another channel`,
  );
}
