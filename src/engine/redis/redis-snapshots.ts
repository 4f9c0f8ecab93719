// Snapshots in Redis: one hash for each channel, with the index of the snapshot and a field for each release.
// A change sends and reads the index and the releases that changed. `Engine` states the obligations.

import { countOffered, type SnapshotRelease } from '../../domain/decision/serving-snapshot.ts';
import { TimeSlice } from '../../flow/time-slice.ts';
import type { Engine } from '../../ports/engine.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { assembleSnapshot } from '../../snapshot/assemble-snapshot.ts';
import { releaseText } from '../../snapshot/release-text.ts';
import { parseIndex, writeIndex } from '../../snapshot/snapshot-index.ts';
import type { RedisConnection } from './connection.ts';
import { keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

/** Maximum number of releases that are sent with a snapshot because Redis is not known to have them. */
const SENT_ALONG_MAX = 4;
/**
 * Maximum number of attempts to store a snapshot whose releases Redis lacks, and to read one that changes.
 * Many writers at once may remove each other's releases, which no snapshot names yet.
 */
const ATTEMPTS_MAX = 10;
/** Length of the texts that are written with one command; a single longer one is written alone. */
const WRITE_LENGTH_MAX = 512 * 1024;

/** Reply of `put-snapshot.lua`. */
type PutReply =
  | readonly ['stored']
  | readonly ['kept', epoch: string, revision: string]
  | readonly ['missing', ...editions: string[]];

export function createRedisSnapshots(
  connection: RedisConnection,
  onFault: (error: unknown) => void,
): Pick<Engine, 'putSnapshot' | 'getSnapshot'> {
  /** Releases that Redis had when this process last wrote or read them. It is asked for the others first. */
  const shared = new WeakSet<SnapshotRelease>();

  function share(releases: readonly SnapshotRelease[]): void {
    for (const release of releases) shared.add(release);
  }

  async function write(key: string, releases: readonly SnapshotRelease[]): Promise<void> {
    const slice = new TimeSlice();
    let fields: string[] = [];
    let length = 0;
    for (const [index, release] of releases.entries()) {
      const text = releaseText(release);
      fields.push(fieldOf(release.edition), text);
      length += text.length;
      const isLast = index === releases.length - 1;
      if (isLast || length >= WRITE_LENGTH_MAX) {
        await connection.writeFields(key, fields);
        fields = [];
        length = 0;
      }
      if (slice.isOver) await slice.pause();
    }
  }

  return {
    async putSnapshot(snapshot) {
      const { channelId, epoch, revision, releases } = snapshot;
      const key = keys.snapshot(snapshot.appRef, snapshot.channel);
      const numbers = [epoch, revision, countOffered(snapshot)].map(String);
      const args = [channelId, ...numbers, writeIndex(snapshot)];
      const fresh = releases.filter((release) => !shared.has(release));
      let sentAlong = fresh.length <= SENT_ALONG_MAX ? fresh : [];
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const texts = sentAlong.flatMap((release) => [release.edition, releaseText(release)]);
        const reply = await connection.run(SCRIPTS.putSnapshot, key, ...args, ...texts);
        const [outcome, ...rest] = reply as PutReply;
        if (outcome === 'kept') return { epoch: Number(rest[0]), revision: Number(rest[1]) };
        if (outcome === 'stored') {
          share(fresh);
          return undefined;
        }
        const missing = new Set<string>(rest);
        await write(
          key,
          releases.filter(({ edition }) => missing.has(edition)),
        );
        sentAlong = [];
      }
      throw new Unavailable(
        'engine',
        'releases of a snapshot are gone as soon as they are written',
      );
    },

    async getSnapshot(appRef, channel, known) {
      const key = keys.snapshot(appRef, channel);
      for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
        const text = await connection.readField(key, 'index');
        if (text === null) return undefined;
        try {
          const index = parseIndex(text);
          if (index === undefined) throw new Error('its index is malformed');
          const snapshot = await assembleSnapshot(index, known, (editions) =>
            connection.readFields(key, editions.map(fieldOf)),
          );
          // Undefined when a newer snapshot came meanwhile, and releases of this one went.
          if (snapshot === undefined) continue;
          share(snapshot.releases);
          return snapshot;
        } catch (error) {
          if (error instanceof Unavailable) throw error;
          onFault(new Error('ignored a malformed snapshot', { cause: error }));
          return undefined;
        }
      }
      return undefined;
    },
  };
}

function fieldOf(edition: string): string {
  return `release:${edition}`;
}
