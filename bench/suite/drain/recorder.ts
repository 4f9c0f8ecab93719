// Recording of check-ins in a database of its own, as the drain of a tree of this repository does it. Trees
// from before there were parts of the devices have one writer, and send every check-in to the ledger.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { RecordMemory } from '../../../src/operations/fleet/record-memory.ts';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { freshDatabase } from '../../../test/support/fresh-database.ts';
import { ledgerOptions } from '../../../test/support/ledger-options.ts';
import { removeFolder, temporaryFolder } from '../../../test/support/server-process.ts';

export type Recorder = {
  readonly appId: string;
  readonly url: string;
  /** Name of the database. */
  readonly database: string;
  /** Number of writers that work side by side. */
  readonly writers: number;
  record(checkIns: readonly CheckIn[]): Promise<void>;
  /** Publishes a version as if at that time, in milliseconds since 1970; returns the id of its release. */
  publish(version: string, at: number): Promise<string>;
  close(): Promise<void>;
};

const BATCH_SIZE = 2000;
const WRITERS = 2;
const FRESHNESS_MS = 300_000;
const UNBOUNDED = { perNetwork: 0, perApp: 0 };
const ADMIN = { kind: 'admin-token' } as const;

/** Opens the ledger of the tree in `folder` in a new database of the server. */
export async function openRecorder(folder: string, serverUrl: string): Promise<Recorder> {
  const load = (file: string) => import(pathToFileURL(join(folder, 'src', file)).href);
  const { url, drop } = await freshDatabase(serverUrl);
  // The ledger marks its directory as used, with PostgreSQL too.
  const dataDir = temporaryFolder('sluice-drain-');
  const { openLedger } = await load('ledger/open-ledger.ts');
  const ledger: Ledger = await openLedger({ databaseUrl: url, dataDir, ...ledgerOptions() });
  const hasParts = existsSync(join(folder, 'src', 'operations/fleet/record-memory.ts'));
  const { appId, organizationId } = await createApp(ledger);
  return {
    appId,
    url,
    database: new URL(url).pathname.slice(1),
    writers: hasParts ? WRITERS : 1,
    record: hasParts
      ? await besideEachOther(ledger, load)
      : (checkIns) => inBatches(checkIns, (batch) => ledger.recordCheckIns(batch)),
    async publish(version, at) {
      const id = await publishRelease(ledger, organizationId, version);
      await datePublishing(url, id, at);
      return id;
    },
    async close() {
      await ledger.close();
      removeFolder(dataDir);
      await drop();
    },
  };
}

async function createApp(ledger: Ledger) {
  while (!(await ledger.isReachable())) await new Promise((resolve) => setTimeout(resolve, 50));
  const organization = await ledger.createOrganization('bench', ADMIN);
  if (!('id' in organization)) throw new Error(organization.message);
  const app = await ledger.createApp(
    { organizationId: organization.id, ref: 'bench', name: 'Bench', channels: ['stable'] },
    ADMIN,
  );
  if (!('value' in app)) throw new Error(app.message);
  return { appId: app.value.id, organizationId: organization.id };
}

async function publishRelease(ledger: Ledger, organizationId: string, version: string) {
  const release = await ledger.publishRelease(
    organizationId,
    {
      ...{ app: 'bench', channel: 'stable', version, canonicalVersion: version, notes: '' },
      ...{ status: 'published', rolloutPct: undefined, targets: null, artifacts: [] },
    },
    ADMIN,
  );
  if (!('value' in release)) throw new Error(release.message);
  return release.value.id;
}

/** Sets the time of publishing, where the tree knows of one: signals are counted from it on. */
async function datePublishing(url: string, id: string, at: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      `SELECT FROM information_schema.columns WHERE table_name = 'releases' AND column_name = 'published_at'`,
    );
    if (rowCount === 0) return;
    await client.query('UPDATE releases SET published_at = $2 WHERE id = $1', [id, new Date(at)]);
  } finally {
    await client.end();
  }
}

/** Returns a recording by several writers, each with parts of its own, as drains do it. */
async function besideEachOther(
  ledger: Ledger,
  load: (file: string) => Promise<{ readonly [name: string]: unknown }>,
): Promise<Recorder['record']> {
  const devicePart = (await load('hashing/device-part.ts')).devicePart as (
    ...device: [string, string]
  ) => number;
  const Memory = (await load('operations/fleet/record-memory.ts')).RecordMemory as new (
    ...parts: [string, Ledger, number]
  ) => RecordMemory;
  const memory = new Memory('bench', ledger, FRESHNESS_MS);
  return async (checkIns) => {
    const shares = Array.from({ length: WRITERS }, (_, writer) =>
      checkIns.filter(({ appId, deviceId }) => devicePart(appId, deviceId) % WRITERS === writer),
    );
    await Promise.all(
      shares.map((share) =>
        inBatches(share, async (batch) => {
          await memory.confirm(batch);
          const needed = memory.sift(batch);
          if (needed.length === 0) return;
          const isRecorded = () => true;
          const { writer } = memory;
          const result = await ledger.recordChecks(needed, 'queued', UNBOUNDED, isRecorded, writer);
          memory.note(needed, result);
        }),
      ),
    );
  };
}

async function inBatches(
  checkIns: readonly CheckIn[],
  record: (batch: readonly CheckIn[]) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < checkIns.length; from += BATCH_SIZE) {
    await record(checkIns.slice(from, from + BATCH_SIZE));
  }
}
