// Recording of check-ins in a database of its own, as the drain of a tree with parts of devices does it.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { devicePart } from '../../src/domain/decision/hashes.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import type { RecordMemory } from '../../src/fleet/record-cache.ts';
import type { openLedger } from '../../src/store/ledger/open-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { NewRelease } from '../../src/store/ledger-terms.ts';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { ledgerOptions } from '../../test/support/ledger-options.ts';
import { runOn } from '../../test/support/run-on.ts';
import { removeFolder, temporaryFolder } from '../../test/support/server-process.ts';

export type Recorder = Awaited<ReturnType<typeof openRecorder>>;

const WRITERS = 2;
const BATCH_SIZE = 2000;
const FRESHNESS_MS = 300_000;
const UNBOUNDED = { perNetwork: 0, perApp: 0 };
const ADMIN = { kind: 'admin-token' } as const;
const FILES = ['store/ledger/open-ledger', 'domain/decision/hashes', 'fleet/record-cache'];

type Tree = {
  readonly openLedger: typeof openLedger;
  readonly devicePart: typeof devicePart;
  readonly RecordMemory: typeof RecordMemory;
};

export async function openRecorder(folder: string, serverUrl: string) {
  const urls = FILES.map((file) => pathToFileURL(join(folder, 'src', `${file}.ts`)).href);
  const modules = await Promise.all(urls.map((url) => import(url)));
  const tree = Object.assign({}, ...modules) as Tree;
  const { url, drop } = await freshDatabase(serverUrl);
  // The ledger marks its directory as used, with PostgreSQL too.
  const dataDir = temporaryFolder('sluice-drain-');
  const options = ledgerOptions();
  Object.assign(options.memory, { channels: async () => ({ channels: [], isComplete: true }) });
  const ledger = await tree.openLedger({ databaseUrl: url, dataDir, ...options });
  while (!(await ledger.isReachable())) await sleep(50);
  const { id: organization } = made(await ledger.createOrganization('bench', ADMIN));
  const asked = { organizationId: organization, ref: 'bench', name: 'Bench', channels: ['stable'] };
  const { value: app } = made(await ledger.createApp(asked, ADMIN));
  return {
    appId: app.id,
    record: besideEachOther(ledger, tree),
    /** Publishes a version as if at that time, in milliseconds since 1970; returns the id of its release. */
    async publish(version: string, at: number): Promise<string> {
      const asked: NewRelease = {
        ...{ app: 'bench', channel: 'stable', version, canonicalVersion: version, notes: '' },
        ...{ status: 'published', rolloutPct: undefined, targets: null, artifacts: [] },
      };
      const { value: release } = made(
        await ledger.publishRelease({ scope: organization, input: asked, actor: ADMIN }),
      );
      // Signals are counted from the time of publishing on.
      const time = new Date(at).toISOString();
      await runOn(url, `UPDATE releases SET published_at = '${time}' WHERE id = '${release.id}'`);
      return release.id;
    },
    async end(): Promise<void> {
      await ledger.close();
      removeFolder(dataDir);
      await drop();
    },
  };
}

/** Result of a call that must not be refused. */
function made<Result extends object>(
  result: Result,
): Exclude<Result, { readonly message: string }> {
  if ('message' in result) throw new Error(String(result.message));
  return result as Exclude<Result, { readonly message: string }>;
}

/** Returns a recording by several writers, each with parts of its own, as drains do it. */
function besideEachOther(ledger: Ledger, { RecordMemory, devicePart }: Tree) {
  const memory = new RecordMemory('bench', ledger, FRESHNESS_MS);
  const recordBatch = async (batch: readonly CheckIn[]) => {
    await memory.confirm(batch);
    const needed = memory.sift(batch);
    if (needed.length === 0) return;
    const { writer } = memory;
    const result = await ledger.recordChecks(needed, 'queued', UNBOUNDED, () => true, writer);
    memory.note(needed, result);
  };
  const write = async (checkIns: readonly CheckIn[], writer: number) => {
    const share = checkIns.filter((each) => {
      return devicePart(each.appId, each.deviceId) % WRITERS === writer;
    });
    for (let from = 0; from < share.length; from += BATCH_SIZE) {
      await recordBatch(share.slice(from, from + BATCH_SIZE));
    }
  };
  return async (checkIns: readonly CheckIn[]): Promise<void> => {
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(checkIns, writer));
    await Promise.all(writers);
  };
}
