// Opening of what an edge has in place of stores: its upstream, the hot state in the process, and its disk.

import { join } from 'node:path';
import { packCheckInPayload } from '../domain/fleet/check-in-payload.ts';
import { failureInWords, readCredential, UpstreamClient } from '../edge/upstream-client.ts';
import {
  FollowedFile,
  FollowedState,
  type IndexRefusal,
  ProvenLastGood,
} from '../edge/followed-state.ts';
import { Follower } from '../edge/follower.ts';
import { CheckInJournalFiles } from '../edge/journal-files.ts';
import { RecordedMark } from '../edge/journal-sender.ts';
import { UpstreamLedger } from '../edge/upstream-ledger.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { StoreHealth } from '../observe/store-health.ts';
import type { Tracing } from '../observe/tracing.ts';
import { type DirectoryLock, lockDirectory } from '../process/directory-lock.ts';
import { RememberedChannels } from '../serving/remembered-channels.ts';
import type { EdgeConfig } from '../settings/edge-settings.ts';
import { ConfigError } from '../settings/settings.ts';
import type { CheckInJournal } from '../store/check-in-journal.ts';
import { type DiskFault, LastGoodFiles } from '../store/disk/last-good-files.ts';
import type { Engine } from '../store/engine.ts';
import { createMemoryEngine } from '../store/memory/memory-engine.ts';
import { makeDataDirectory } from './data-directory.ts';
import { LoggedLedgerReport } from './ledger-report.ts';
import { fromSetting, type ServingStores } from './stores.ts';
import { tellDiskFaults } from './tell-disk-faults.ts';
import { watchStore } from './watch-stores.ts';

export type EdgeStores = ServingStores & {
  readonly ledger: UpstreamLedger;
  readonly journal: CheckInJournal;
  /** Failures that devices have reported, on their way to the upstream. */
  readonly failureJournal: CheckInJournal;
  readonly client: UpstreamClient;
  readonly follower: Follower;
  readonly recorded: RecordedMark;
  /** Lock of the directory, to be released when all of the rest is closed. */
  readonly lock: DirectoryLock;
  readonly healths: readonly StoreHealth[];
};

export type EdgeStoresOptions = {
  readonly config: EdgeConfig;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
};

const BYTES_PER_MB = 1024 * 1024;
/** Journals, each in a directory of its name. */
const JOURNALS = ['check-ins', 'failures'] as const;
/** Size of the journal of failures: some hundred thousand of them. */
const FAILURES_MB = 64;

/** Why an edge does not follow what answers as its upstream. */
const REFUSED: Readonly<Record<IndexRefusal, string>> = {
  foreign: 'what answers as the upstream is of another record, and is not followed',
  replayed: 'what answers as the upstream is behind what this edge knows, and is not followed',
};

/** Opens what an edge serves with; rejects with a `ConfigError` where its directory cannot be used. */
export async function openEdgeStores(options: EdgeStoresOptions): Promise<EdgeStores> {
  const { config, log, metrics } = options;
  const directory = edgeDirectory(config);
  const onDiskFault = tellDiskFaults(metrics, log);
  const { journal, failureJournal, lock } = await openDirectory(options, directory);
  const state = new FollowedState();
  const files = new LastGoodFiles(directory, undefined, onDiskFault);
  const lastGood = new ProvenLastGood(files, state);
  const recorded = new RecordedMark(journal);
  const hotState = createMemoryEngine({ labelNotesEndedBefore: () => recorded.before });
  const upstream = openUpstream(options, state, hotState, onDiskFault);
  const engine = engineWith(hotState, journal, () => upstream.ledger.noteLabels());
  const memory = new RememberedChannels(lastGood, engine);
  const report = new LoggedLedgerReport(metrics, log, {
    isServing: true,
    onLost(channels) {
      const news = memory.forget(channels);
      for (const { appRef, channel } of news) lastGood.forget(appRef, channel);
      return news;
    },
    onAdmitted: () => undefined,
    onForeign: () => undefined,
  });
  const watched = watchStore('upstream', upstream.ledger, {
    ...options,
    reasonOf: failureInWords,
  });
  return {
    ...{ engine, lastGood, memory, report, journal, failureJournal, recorded, lock },
    ...{ ...upstream, ledger: watched.port, healths: [watched.health] },
    refusalOf: (store) => {
      const { refusal } = upstream.follower;
      return store === 'upstream' && refusal !== undefined ? REFUSED[refusal] : undefined;
    },
  };
}

/** Makes the directory of an edge, takes its lock, and opens the journals in it. */
async function openDirectory(
  { config, log, metrics }: EdgeStoresOptions,
  directory: string,
): Promise<Pick<EdgeStores, 'journal' | 'failureJournal' | 'lock'>> {
  const rareLog = new RareLog(log);
  for (const each of [directory, ...JOURNALS.map((name) => join(directory, name))]) {
    await fromSetting('DATA_DIR', () => makeDataDirectory(each));
  }
  const lock = await fromSetting('DATA_DIR', () => lockDirectory(directory, onLockLost));
  const bytesMax = config.edge.journalMb * BYTES_PER_MB;
  metrics.gauge(
    'sluice_edge_journal_bytes_max',
    'Bytes of check-ins at which the journal takes no more',
    () => bytesMax,
  );
  const openJournal = (name: (typeof JOURNALS)[number], bytes: number) =>
    fromSetting('DATA_DIR', () =>
      CheckInJournalFiles.open({
        directory: join(directory, name),
        bytesMax: bytes,
        onFault(path, error) {
          metrics.faults.add('disk');
          rareLog.warn({ err: error, file: path }, JOURNAL_FAULT);
        },
      }),
    );
  const journal = await openJournal('check-ins', bytesMax);
  const failureJournal = await openJournal('failures', FAILURES_MB * BYTES_PER_MB);
  return { journal, failureJournal, lock };
}

/**
 * Ends the process, which is an error that reaches the top: another edge would write the same files, and both
 * would take the other's check-ins for handed over.
 */
function onLockLost(): void {
  throw new Error('another process has taken over the lock of DATA_DIR');
}

/** Returns the directory of an edge: its files do not mix with those of a node in the same DATA_DIR. */
function edgeDirectory({ dataDir }: Pick<EdgeConfig, 'dataDir'>): string {
  return join(dataDir, 'edge');
}

/** Reads a token as the settings have it; throws a `ConfigError` for one of another form. */
export function credentialOf(token: string) {
  const credential = readCredential(token);
  if (credential !== undefined) return credential;
  throw new ConfigError('EDGE_TOKEN: is not what `sluice edge-token create` has printed');
}

const JOURNAL_FAULT = 'the journal of check-ins is damaged, or could not be written';

function openUpstream(
  { config, log, metrics }: EdgeStoresOptions,
  state: FollowedState,
  engine: Engine,
  onDiskFault: (fault: DiskFault) => void,
): Pick<EdgeStores, 'client' | 'follower' | 'ledger'> {
  const rareLog = new RareLog(log);
  const path = join(edgeDirectory(config), 'followed');
  const client = new UpstreamClient({
    url: config.edge.upstream,
    credential: credentialOf(config.edge.token),
    record: () => state.record,
    onRefused: (reason, call) => {
      metrics.edgeRefusals.add(reason);
      rareLog.warnAbout(reason, { reason, call }, 'an answer of the upstream was refused');
    },
  });
  let lastFailure: unknown;
  const follower = new Follower({
    client,
    state,
    file: new FollowedFile(path, (error) => onDiskFault({ doing: 'write', path, error })),
    announce(news) {
      for (const each of news) void engine.announce(each);
    },
    onContact(failure) {
      lastFailure = failure;
      if (failure !== undefined) metrics.faults.add('upstream-follow');
      log.debug({ err: failure }, 'the upstream was asked');
    },
    onDamaged: (error) => onDiskFault({ doing: 'read', path, error }),
  });
  const ledger = new UpstreamLedger({ client, state, follower, lastFailure: () => lastFailure });
  return { client, follower, ledger };
}

/**
 * Returns an engine in this process whose check-ins go into the journal instead of its queue. `onLabels` is
 * called for those that carry labels.
 */
function engineWith(hotState: Engine, journal: CheckInJournal, onLabels: () => void): Engine {
  return {
    ...hotState,
    appendCheckIns(checkIns) {
      if (checkIns.labels.size > 0) onLabels();
      return journal.append(packCheckInPayload(checkIns, (length) => Buffer.alloc(length)));
    },
    countCheckIns: async () => journal.count,
    ageOfCheckIns: async () => journal.ageMs,
    weighCheckIns: async () => journal.bytes,
  };
}
