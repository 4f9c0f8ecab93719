// Statements about what is remembered of releases of a code host: see `HostMemory`. Call them under the lock
// of the channel.

import { LIMIT } from '../../contract/limit.ts';
import type { HostMemory, HostRelease } from '../../domain/release/host-release.ts';
import type { NewArtifact } from '../new-artifact.ts';
import { columns, msOf } from './columns.ts';
import type { Sql } from './database.ts';

const MEMORY = `SELECT ${columns<HostMemory<NewArtifact>>({
  deletedAt: msOf('deleted_at'),
  publishedAt: msOf('host_published_at'),
  calledBackAt: msOf('called_back_at'),
  files: 'files',
})} FROM host_memories
  WHERE channel_id = $1 AND provider = $2 AND host_id = $3 AND canonical_version = $4
    AND noted_at > clock_timestamp() - make_interval(secs => ${LIMIT.hostMemoryMs / 1000})`;

const STORE = `
  INSERT INTO host_memories
    (channel_id, provider, host_id, canonical_version, deleted_at, host_published_at, called_back_at,
     files)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (channel_id, provider, host_id, canonical_version) DO UPDATE SET
    (noted_at, deleted_at, host_published_at, called_back_at, files) = (excluded.noted_at,
      excluded.deleted_at, excluded.host_published_at, excluded.called_back_at, excluded.files)`;

/** Deletes the oldest ones beyond the bound, and those that are too old to be read. */
const FORGET = `
  DELETE FROM host_memories WHERE channel_id = $1 AND (
    noted_at <= clock_timestamp() - make_interval(secs => ${LIMIT.hostMemoryMs / 1000})
    OR (provider, host_id, canonical_version) IN (
      SELECT provider, host_id, canonical_version FROM host_memories WHERE channel_id = $1
      ORDER BY noted_at DESC, host_id DESC OFFSET ${LIMIT.hostMemoriesMax}
    )
  )`;

/** Release of a code host, under the version of its tag, on a channel. */
export type HostPlace = {
  readonly channelId: string;
  readonly canonicalVersion: string;
  readonly host: HostRelease;
};

/** Returns what the channel remembers of the release of an event; undefined for nothing. */
export async function readHostMemory(
  sql: Sql,
  place: HostPlace,
): Promise<HostMemory<NewArtifact> | undefined> {
  const rows = await sql.query<HostMemory<NewArtifact>>(MEMORY, keyOf(place));
  return rows[0];
}

/** Stores it in place of what was remembered before, and forgets the oldest beyond the bound. */
export async function storeHostMemory(
  sql: Sql,
  place: HostPlace,
  { deletedAt, publishedAt, calledBackAt, files }: HostMemory<NewArtifact>,
): Promise<void> {
  if (place.host.id === null) return;
  await sql.query(STORE, [
    ...keyOf(place),
    ...[deletedAt, publishedAt, calledBackAt].map(timeOf),
    files === null ? null : JSON.stringify(files),
  ]);
  await sql.query(FORGET, [place.channelId]);
}

function keyOf({ channelId, canonicalVersion, host }: HostPlace): (string | number | null)[] {
  return [channelId, host.provider, host.id, canonicalVersion];
}

/** Returns a time in milliseconds as a parameter. */
export function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
