// Gives a node the releases of the scenarios: straight into PostgreSQL, with fixed ids and times, or through
// its APIs.

import type pg from 'pg';
import type { Targeting } from '../../src/contract/resource.ts';
import type { ServingNode } from '../../test/support/node.ts';
import { admin, createNamed, type Tenant } from '../../test/support/tenant.ts';

type FixedRelease = { version: string; rolloutPct?: number; targets?: Targeting };
type Releases = readonly FixedRelease[];

/** Releases of each app's channel, and those of the channel that it follows, if it does. */
export type FixedApps = Readonly<
  Record<string, { readonly own: Releases; readonly followed?: Releases }>
>;

const CREATED_AT = '2026-01-01T00:00:00.000Z';
/** Notes that make a manifest about 640 bytes long, as real ones are. */
const NOTES = 'Fixes a crash at start, and makes search three times as fast. '.repeat(5).trim();
const SIGNATURE = 'dW50cnVzdGVkIGNvbW1lbnQ6IHNpZ25hdHVyZQ'.repeat(3);
const CHANNEL = 'stable';
const FOLLOWED = 'followed';
const MACHINES = ['linux', 'darwin', 'windows'].flatMap((platform) =>
  ['x86_64', 'aarch64'].map((arch) => ({ platform, arch })),
);

export function checkPaths(app: string): string[] {
  return MACHINES.map(({ platform, arch }) => `/u/${app}/${CHANNEL}/${platform}/${arch}`);
}

function artifactsOf(version: string) {
  return MACHINES.map(({ platform, arch }) => {
    const url = `https://downloads.example.com/${platform}/${arch}/app-${version}.tar.gz`;
    return { platform, arch, url, signature: SIGNATURE };
  });
}

/** Writes apps with their releases, which count as offered, so that no first offer is recorded in a round. */
export async function insertApps(sql: pg.Client, apps: FixedApps): Promise<void> {
  await sql.query(`INSERT INTO organizations (id, name) VALUES ('org_bench', 'Benchmarks')`);
  for (const [ref, { own, followed }] of Object.entries(apps)) {
    await sql.query(
      `INSERT INTO apps (id, organization_id, ref, name) VALUES ($1, 'org_bench', $2, $2)`,
      [`app_${ref}`, ref],
    );
    const follows = followed && (await insertChannel(sql, ref, FOLLOWED, followed));
    await insertChannel(sql, ref, CHANNEL, own, follows);
  }
}

async function insertChannel(
  sql: pg.Client,
  ref: string,
  name: string,
  releases: Releases,
  follows?: string,
): Promise<string> {
  const channel = `chn_${ref}_${name}`;
  await sql.query(
    'INSERT INTO channels (id, app_id, name, revision, follows) VALUES ($1, $2, $3, 2, $4)',
    [channel, `app_${ref}`, name, follows],
  );
  for (const { version, rolloutPct = 100, targets } of releases) {
    const id = `rel_${channel}_${version}`;
    await sql.query(
      `INSERT INTO releases (id, channel_id, version, canonical_version, notes, status, rollout_pct,
         targets, offered_at, created_at)
       VALUES ($1, $2, $3, $3, $4, 'published', $5, $6, $7, $7)`,
      [id, channel, version, NOTES, rolloutPct, targets && JSON.stringify(targets), CREATED_AT],
    );
    await sql.query(
      `INSERT INTO artifacts (release_id, position, platform, arch, url, signature)
       SELECT $1, place - 1, made->>'platform', made->>'arch', made->>'url', made->>'signature'
       FROM jsonb_array_elements($2) WITH ORDINALITY AS list (made, place)`,
      [id, JSON.stringify(artifactsOf(version))],
    );
  }
  return channel;
}

/** Publishes the same through the APIs, which are the same in other commits, as tables are not. */
export async function publishApps(node: ServingNode, apps: FixedApps): Promise<void> {
  for (const [ref, { own, followed }] of Object.entries(apps)) {
    const tenant = await createNamed(node, ref);
    for (const release of own) await publishFixed(tenant, release);
    if (followed === undefined) continue;
    await admin(node, 'POST', 'channels', { app: ref, name: FOLLOWED });
    for (const release of followed) await publishFixed(tenant, release, FOLLOWED);
    await admin(node, 'PATCH', 'channels', { app: ref, name: CHANNEL, follows: FOLLOWED });
  }
}

export async function publishFixed(
  tenant: Tenant,
  { version, rolloutPct: rollout = 100, targets }: FixedRelease,
  channel = CHANNEL,
): Promise<void> {
  const artifacts = artifactsOf(version);
  const more = { channel, notes: NOTES, artifacts, rollout, targets };
  const { status, text } = await tenant.publish(version, more);
  if (status !== 201) throw new Error(`${version} on ${channel} not published: ${status} ${text}`);
}
