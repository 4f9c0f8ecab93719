// SQL that lets devices have a release again which they have closed an action of (docs/contract.md 34.52).

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { ReleaseStatus } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { sortableTime } from '../../../domain/fleet/packed-actions.ts';
import type { ReleaseName, ReleaseRetry, RetriedRelease, TenantScope } from '../../ledger-terms.ts';
import { insertAudit } from '../change/audit.ts';
import { type Change, type LockedOne, lockOne } from '../change/change.ts';
import { findApp, recordChannelChange } from '../change/channels.ts';
import type { Sql } from '../database/database.ts';

type Place = LockedOne & { readonly bars: number };

type FoundRelease = {
  readonly id: string;
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly number: number;
};

/**
 * Ends the bars of all devices from a published release, by the time from which older bars do not count. A
 * call that names devices is only audited here, with their number: an erased device must not be named. Bars
 * are counted before the channel is locked, because a large fleet takes seconds, for which no first offer
 * could be recorded.
 */
export const RETRY: Change<ReleaseRetry, RetriedRelease, Place> = {
  async lock(sql, { scope, input, known }) {
    const bars = input.named === undefined ? await countBars(sql, scope, input) : 0;
    const place = await lockOne(sql, { scope, known }, input);
    return isFailure(place) ? place : { ...place, bars };
  },
  async work(sql, { channel, bars }, { input: { canonicalVersion, named }, reason }) {
    const release = await lockRelease(sql, channel.id, canonicalVersion);
    if (isFailure(release)) return release;
    if (release.status !== 'published') return fail('notPublished');
    const { version, number } = release;
    const { app, name } = channel;
    const value = {
      ...{ appId: app.id, number, devices: bars },
      release: { app: app.ref, channel: name, version },
    };
    const entry = { action: 'release.retry', before: null, reason } as const;
    if (named !== undefined) {
      const place = { app, channel: name, version };
      const subject = `${app.ref}/${name}@${version}`;
      const after = { devices: named };
      const { organizationId } = app;
      await insertAudit(sql, { ...entry, organizationId, subject, place, after });
      return { value, changed: [] };
    }
    await sql.query('UPDATE releases SET retried_at = clock_timestamp() WHERE id = $1', [
      release.id,
    ]);
    const after = { devices: 'all', bars };
    return {
      value,
      changed: await recordChannelChange(sql, channel, { ...entry, version, after }),
    };
  },
  answer: ({ release, devices }) => ({ release, devices }),
};

async function lockRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
): Promise<Outcome<FoundRelease>> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const [found] = await sql.query<FoundRelease>(
    `SELECT id, version, status, number FROM releases
     WHERE channel_id = $1 AND canonical_version = $2 FOR UPDATE`,
    [channelId, canonicalVersion],
  );
  return found ?? fail('unknownRelease');
}

/** Counts the devices that are barred from a release; 0 for an unknown one. */
async function countBars(
  sql: Sql,
  scope: TenantScope | undefined,
  { app: appName, channel, canonicalVersion }: ReleaseName,
): Promise<number> {
  const app = await findApp(sql, scope, appName);
  if (isFailure(app) || !isStorable(channel, canonicalVersion)) return 0;
  const [before] = await sql.query<{ readonly limit: string }>(
    `SELECT current_setting('statement_timeout') AS limit,
       set_config('statement_timeout', $1, true), set_config('jit', 'off', true)`,
    [String(COUNT_MS_MAX)],
  );
  const [release] = await sql.query<{ readonly number: number; readonly retriedAt: number | null }>(
    RETRIED,
    [app.id, channel, canonicalVersion],
  );
  const retriedAt = release?.retriedAt ?? undefined;
  const [counted] = await sql.query<{ readonly bars: number }>(
    BARS,
    [app.id, release?.number ?? null, retriedAt === undefined ? null : sortableTime(retriedAt)],
    COUNT_MS_MAX,
  );
  await sql.query(`SELECT set_config('statement_timeout', $1, true)`, [before?.limit ?? '']);
  return counted?.bars ?? 0;
}

/** Longest time of counting: 200,000 devices with a bar took 0.6 s, and 1.7 s after an earlier retry. */
const COUNT_MS_MAX = 60_000;

const RETRIED = `
  SELECT releases.number, (extract(epoch FROM releases.retried_at) * 1000)::float8 AS "retriedAt"
  FROM releases JOIN channels ON channels.id = releases.channel_id
  WHERE channels.app_id = $1 AND channels.name = $2 AND releases.canonical_version = $3`;

/**
 * Bars from before the last retry have ended. Bars are the ninth field of packed actions; a bar has its
 * release first and its time fourth (packed-actions.ts).
 */
const BARS = `
  SELECT count(*)::integer AS bars FROM device_actions AS held
  WHERE held.app_id = $1 AND held.barred @> ARRAY[$2::integer]
    AND ($3::text IS NULL OR EXISTS (
      SELECT FROM unnest(string_to_array(split_part(held.actions, ' ', 9), ';')) AS bar
      WHERE split_part(bar, ',', 1) = $2::integer::text
        AND lpad(split_part(bar, ',', 4), length($3::text), '0') COLLATE "C" > $3::text
    ))`;
