// Writes apps and channels with fixed releases straight into PostgreSQL. Nothing of them is random, and
// every release counts as offered before, so that no first offer is recorded during a measurement.

import type pg from 'pg';
import type { Targeting } from '../../src/contract/resource.ts';

export type FixedRelease = {
  readonly version: string;
  readonly rolloutPct?: number;
  readonly targets?: Targeting;
};

const ORGANIZATION = 'org_bench';
const CREATED_AT = '2026-01-01T00:00:00.000Z';
/** Notes that make a manifest about 640 bytes long, as real ones are. */
export const NOTES = 'Fixes a crash at start, and makes search three times as fast. '
  .repeat(5)
  .trim();
const SIGNATURE = 'dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZQ'.repeat(3);

export const PLATFORMS = ['linux', 'darwin', 'windows'] as const;
export const ARCHES = ['x86_64', 'aarch64'] as const;
export const CHANNEL = 'stable';

/** Artifacts of a version: one for each platform and arch. */
export function artifactsOf(version: string) {
  return PLATFORMS.flatMap((platform) =>
    ARCHES.map((arch) => {
      const url = `https://downloads.example.com/${platform}/${arch}/app-${version}.tar.gz`;
      return { platform, arch, url, signature: SIGNATURE };
    }),
  );
}

/** Writes an app named `ref`, without a channel. */
export async function insertFixedApp(sql: pg.Client, ref: string): Promise<void> {
  await sql.query(
    `INSERT INTO organizations (id, name) VALUES ($1, 'Benchmarks') ON CONFLICT DO NOTHING`,
    [ORGANIZATION],
  );
  await sql.query('INSERT INTO apps (id, organization_id, ref, name) VALUES ($1, $2, $3, $3)', [
    ...[`app_${ref}`, ORGANIZATION, ref],
  ]);
}

/**
 * Writes a channel of an app with these releases, each with an artifact per platform and arch; `follows` is a
 * channel of the app that was written before.
 */
export async function insertFixedChannel(
  sql: pg.Client,
  ref: string,
  name: string,
  releases: readonly FixedRelease[],
  follows?: string,
): Promise<void> {
  const channel = idOf(ref, name);
  await sql.query(
    'INSERT INTO channels (id, app_id, name, revision, follows) VALUES ($1, $2, $3, 2, $4)',
    [channel, `app_${ref}`, name, follows === undefined ? null : idOf(ref, follows)],
  );
  for (const release of releases) await insertRelease(sql, channel, release);
}

function idOf(ref: string, channel: string): string {
  return `chn_${ref}_${channel}`;
}

async function insertRelease(
  sql: pg.Client,
  channel: string,
  { version, rolloutPct = 100, targets }: FixedRelease,
): Promise<void> {
  const id = `rel_${channel}_${version}`;
  await sql.query(
    `INSERT INTO releases (id, channel_id, version, canonical_version, notes, status, rollout_pct, targets,
       offered_at, created_at)
     VALUES ($1, $2, $3, $3, $4, 'published', $5, $6, $7, $7)`,
    [id, channel, version, NOTES, rolloutPct, targets ? JSON.stringify(targets) : null, CREATED_AT],
  );
  for (const [position, artifact] of artifactsOf(version).entries()) {
    const { platform, arch, url, signature } = artifact;
    await sql.query(
      `INSERT INTO artifacts (release_id, position, platform, arch, url, signature)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, position, platform, arch, url, signature],
    );
  }
}
