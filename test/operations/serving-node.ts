// Serving side of one node on a fake ledger, the memory engine and a disk kept in memory, which the tests of
// the operations share. A test sets faults on these parts.

import { CatalogRefresher } from '../../src/background/catalog-refresher.ts';
import type { ArtifactCandidate } from '../../src/domain/decision/catalog.ts';
import type { ServingOrder } from '../../src/domain/decision/serving-order.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { ActivityBroadcast } from '../../src/operations/fleet/activity-broadcast.ts';
import { CheckIns } from '../../src/operations/fleet/check-ins.ts';
import { DeviceLabels } from '../../src/operations/fleet/device-labels.ts';
import { Catalogs } from '../../src/operations/serving/catalogs.ts';
import {
  type CheckQuery,
  checkQuery,
  checkScope,
} from '../../src/operations/serving/check-query.ts';
import { CheckUpdate } from '../../src/operations/serving/check-update.ts';
import { FirstOffers } from '../../src/operations/serving/first-offer.ts';
import { KnownChannels } from '../../src/operations/serving/known-channels.ts';
import { LedgerRewind } from '../../src/operations/serving/ledger-rewind.ts';
import { RememberedChannels } from '../../src/operations/serving/remembered-channels.ts';
import { SharedOffers } from '../../src/operations/serving/shared-offers.ts';
import { SharedSnapshots } from '../../src/operations/serving/shared-snapshots.ts';
import type { ActivityStream } from '../../src/ports/activity-stream.ts';
import type { ChannelName, ChannelNameList } from '../../src/ports/channel-names.ts';
import type { CheckInQueue } from '../../src/ports/check-in-queue.ts';
import type { DeviceRates } from '../../src/ports/device-rates.ts';
import type { Announcement, Engine, SnapshotHead } from '../../src/ports/engine.ts';
import type { LabelCache } from '../../src/ports/label-cache.ts';
import type { LastGood } from '../../src/ports/last-good.ts';
import type { CountedRequest } from '../../src/ports/rate-decision.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { manifestQuestion } from '../../src/updater/manifest.ts';
import { release, snapshot, version } from '../domain/sample.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { KeptReport } from '../support/ledger-options.ts';
import { openAdmission } from '../support/open-admission.ts';

/** Query of a check of `acme` from linux/x86_64, as read from an address for the first time. */
export function queryOf(text: string, channel = 'stable'): CheckQuery<ArtifactCandidate> {
  return checkQuery(
    checkScope('acme', channel, manifestQuestion('linux', 'x86_64')),
    version(text),
  );
}

type Served = Omit<
  Engine,
  keyof CheckInQueue | keyof LabelCache | 'labelNotes' | keyof ActivityStream | keyof DeviceRates
>;

/**
 * The part of a memory engine that serving needs. It keeps its announcements, and a test can take it away.
 */
export class WatchedEngine implements Served {
  readonly announced: Announcement[] = [];
  /** Error that every call rejects with. */
  fault: Error | undefined;
  /** Tells the listener that the subscription has resumed. */
  resume: () => void = () => {};
  private readonly engine = createMemoryEngine();

  /** This object in the type of the whole port. */
  get port(): Engine {
    return this as unknown as Engine;
  }

  async putSnapshot(put: ServingSnapshot): Promise<ServingOrder | undefined> {
    this.assertThere();
    return this.engine.putSnapshot(put);
  }

  async getSnapshot(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    this.assertThere();
    return this.engine.getSnapshot(appRef, channel);
  }

  async getSnapshotHead(appRef: string, channel: string): Promise<SnapshotHead | undefined> {
    this.assertThere();
    return this.engine.getSnapshotHead(appRef, channel);
  }

  async announce(announcement: Announcement): Promise<void> {
    this.assertThere();
    this.announced.push(announcement);
    return this.engine.announce(announcement);
  }

  subscribe(listener: (announcement: Announcement) => void, onResumed: () => void): void {
    this.resume = onResumed;
    this.engine.subscribe(listener, onResumed);
  }

  async countRequest(key: string, limit: number, windowMs: number): Promise<CountedRequest> {
    this.assertThere();
    return this.engine.countRequest(key, limit, windowMs);
  }

  async forgetRequests(key: string): Promise<void> {
    this.assertThere();
    return this.engine.forgetRequests(key);
  }

  async putChannelNames(list: ChannelNameList): Promise<void> {
    this.assertThere();
    return this.engine.putChannelNames(list);
  }

  async getChannelNames(heldTag: string | undefined): Promise<ChannelNameList | undefined> {
    this.assertThere();
    return this.engine.getChannelNames(heldTag);
  }

  async isReachable(): Promise<boolean> {
    return this.fault === undefined;
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  private assertThere(): void {
    if (this.fault !== undefined) throw this.fault;
  }
}

/** Last known snapshots in memory: a disk on which every write has ended. */
class KeptInMemory implements LastGood {
  private readonly kept = new Map<string, ServingSnapshot>();

  keep(last: ServingSnapshot): void {
    this.kept.set(`${last.appRef}/${last.channel}`, last);
  }

  async find(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    return this.kept.get(`${appRef}/${channel}`);
  }

  async list(): Promise<readonly ChannelName[]> {
    return [...this.kept.values()];
  }

  forget(appRef: string, channel: string): void {
    this.kept.delete(`${appRef}/${channel}`);
  }

  async hasAny(): Promise<boolean> {
    return this.kept.size > 0;
  }

  async flush(): Promise<void> {}
}

/** Builds the node; `now` is the clock of its first offers. */
export function servingNode(now?: () => number) {
  const ledger = new FakeLedger();
  const engine = new WatchedEngine();
  const lastGood = new KeptInMemory();
  const metrics = new Metrics();
  const warnings: string[] = [];
  const log = new RareLog({ warn: (_details: unknown, message?: string) => keepText(message) });
  const keepText = (message = ''): void => void warnings.push(message);
  const report = new KeptReport();
  const shared = new SharedSnapshots(engine.port, metrics);
  const parts = {
    ledger: ledger.port,
    engine: engine.port,
    lastGood,
    shared,
    report,
    log,
    metrics,
  };
  const known = new KnownChannels(parts);
  const rewind = new LedgerRewind(parts);
  const memory = new RememberedChannels(lastGood, engine.port);
  const catalogs = new Catalogs({ ...parts, known, rewind, memory });
  const refresher = new CatalogRefresher({ ...parts, catalogs, rewind, log: createLog('silent') });
  const sharedOffers = new SharedOffers({ engine: engine.port, catalogs, metrics, log, now });
  const firstOffers = new FirstOffers({
    ledger: ledger.port,
    shared: sharedOffers,
    metrics,
    log,
    now,
  });
  const silent = createLog('silent');
  const stores = { ledger: ledger.port, engine: engine.port };
  const live = new ActivityBroadcast(engine.port, metrics, silent);
  const check = new CheckUpdate({
    catalogs,
    firstOffers,
    labels: new DeviceLabels({
      ...stores,
      admission: openAdmission(ledger.port),
      metrics,
      log: silent,
    }),
    checkIns: new CheckIns(engine.port, live, metrics, silent),
    clock: { now: () => Date.now() },
    metrics,
  });
  return {
    ledger,
    engine,
    lastGood,
    metrics,
    log,
    warnings,
    known,
    catalogs,
    rewind,
    report,
    refresher,
    sharedOffers,
    firstOffers,
    check,
  };
}

export type ServingNode = ReturnType<typeof servingNode>;

/** Snapshot of a channel of app `acme`; its newest release is 1.0.<revision>. */
export function channelAt(
  revision: number,
  channel = 'stable',
  parts: Partial<ServingSnapshot> = {},
): ServingSnapshot {
  return snapshot([release(`1.0.${revision}`)], {
    appId: 'app_1',
    channelId: `chn_${channel}`,
    channel,
    revision,
    ...parts,
  });
}

/** Returns the revision at which a node serves a channel of `acme`; undefined when it is not loaded. */
export function servedRevision({ catalogs }: Pick<ServingNode, 'catalogs'>, channel = 'stable') {
  return catalogs.peek('acme', channel)?.catalog?.snapshot.revision;
}

export function engineAway(): Unavailable {
  return new Unavailable('engine', new Error('connection refused'));
}

/** Waits until all work is done that does not wait for a timer or for the test. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
