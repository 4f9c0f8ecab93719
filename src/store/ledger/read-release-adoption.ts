// Statements that read how a release spreads, and how the one before it did at the same age.

import { isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { AdoptionCurve, ReleaseAdoption } from '../../contract/release-trouble.ts';
import { adoptionAtAges, type InstalledInHour } from '../../domain/rollout/adoption-at-age.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { columns } from './columns.ts';
import { countInReach } from './count-in-reach.ts';
import type { Sql } from './database.ts';
import { findReleaseByName } from './planned-release.ts';
import { IS_KNOWN } from './signal-conditions.ts';
import { readSignalTaking } from './signal-taking.ts';

/** Ages beyond this are not told: signals are kept for 90 days. */
const AGE_HOURS_MAX = 90 * 24;

type Published = {
  readonly id: string;
  readonly version: string;
  readonly publishedAtMs: number;
  readonly ageMs: number;
};

const PUBLISHED_COLUMNS = columns<Published>({
  id: 'other.id',
  version: 'other.version',
  publishedAtMs: '(extract(epoch FROM other.published_at) * 1000)::float8',
  ageMs: '(extract(epoch FROM now() - other.published_at) * 1000)::float8',
});

/** The release first, then the one before it. */
const PAIR = `
  SELECT ${PUBLISHED_COLUMNS} FROM releases AS own
  JOIN releases AS other ON other.channel_id = own.channel_id AND (
    other.id = own.id OR other.published_at < own.published_at AND other.status <> 'rolled_back'
  )
  WHERE own.id = $1 AND own.published_at IS NOT NULL
  ORDER BY other.published_at DESC, other.id = own.id DESC LIMIT 2`;

const INSTALLED_COLUMNS = columns<InstalledInHour & { releaseId: string }>({
  releaseId: 'release_id',
  hourMs: '(extract(epoch FROM at) * 1000)::float8',
  devices: 'sum(devices)::float8',
});

const INSTALLED = `
  SELECT ${INSTALLED_COLUMNS} FROM release_signals
  WHERE release_id = ANY ($1::text[]) AND kind = 'installed'
    AND ${IS_KNOWN}
    AND EXISTS (SELECT FROM releases WHERE id = release_id AND is_watched)
  GROUP BY release_id, at`;

/**
 * Reads how a release spreads among the devices that its health counts, and how the one that was published
 * before it on its channel did when it was as old; null for one that was never published.
 */
export async function readReleaseAdoption(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
): Promise<Outcome<ReleaseAdoption | null, UnknownRelease>> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return found;
  const releaseId = found.release.id;
  const [release, before] = await sql.query<Published>(PAIR, [releaseId]);
  if (release === undefined) return null;
  const { known, isPushed } = await readSignalTaking(sql, releaseId);
  const installed = await sql.query<InstalledInHour & { releaseId: string }>(INSTALLED, [
    [release.id, ...(before === undefined ? [] : [before.id])],
    ...[known, isPushed],
  ]);
  const ageHours = Math.min(Math.ceil(release.ageMs / 3_600_000), AGE_HOURS_MAX);
  const curveOf = ({ id, version, publishedAtMs }: Published): AdoptionCurve => {
    const own = installed.filter((each) => each.releaseId === id);
    const ages = own.length === 0 ? [] : adoptionAtAges(publishedAtMs, own, ageHours);
    return { version, ages };
  };
  return {
    release: curveOf(release),
    before: before === undefined ? null : curveOf(before),
    fleet: await countInReach(sql, releaseId),
  };
}
