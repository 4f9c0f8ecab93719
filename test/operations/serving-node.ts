// One node's serving side on a fake ledger, the memory engine and a disk of its own in memory: what the tests
// of the operations share. Whatever a fault is, a test sets it on one of these parts.

import type { ServingSnapshot } from '../../src/domain/serving-snapshot.ts';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { Catalogs } from '../../src/operations/catalogs.ts';
import { CheckIns } from '../../src/operations/check-ins.ts';
import { checkSubject } from '../../src/operations/check-subject.ts';
import { CheckUpdate } from '../../src/operations/check-update.ts';
import { DeviceLabels } from '../../src/operations/device-labels.ts';
import { FirstOffers } from '../../src/operations/first-offer.ts';
import { LiveFeed } from '../../src/operations/live-feed.ts';
import { type UpdateSubject, updateOrigin } from '../../src/operations/update-subject.ts';
import type { ActivityFeed } from '../../src/ports/activity-feed.ts';
import type { CheckInQueue } from '../../src/ports/check-in-queue.ts';
import type { DeviceRates } from '../../src/ports/device-rates.ts';
import type { Announcement, Engine, RateDecision } from '../../src/ports/engine.ts';
import type { LabelCache } from '../../src/ports/label-cache.ts';
import type { LastGood } from '../../src/ports/last-good.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { release, snapshot, version } from '../domain/sample.ts';
import { FakeLedger } from '../support/fake-ledger.ts';

/** A check of `acme` from linux/x86_64, as an address of its own. */
export function subjectOf(text: string, channel = 'stable'): UpdateSubject {
  return checkSubject(updateOrigin('acme', channel, 'linux', 'x86_64'), version(text));
}

type Served = Omit<
  Engine,
  keyof CheckInQueue | keyof LabelCache | keyof ActivityFeed | keyof DeviceRates
>;

/** A memory engine that tells what it was told, and that a test can take away; of it, what serving needs. */
export class WatchedEngine implements Served {
  readonly announced: Announcement[] = [];
  /** What every call rejects with. */
  fault: Error | undefined;
  /** Says that hearing has begun again. */
  resume: () => void = () => {};
  private readonly engine = createMemoryEngine();

  /** This, where the whole port is asked for. */
  get port(): Engine {
    return this as unknown as Engine;
  }

  async putSnapshot(put: ServingSnapshot): Promise<boolean> {
    this.assertThere();
    return this.engine.putSnapshot(put);
  }

  async getSnapshot(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    this.assertThere();
    return this.engine.getSnapshot(appRef, channel);
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

  async countRequest(key: string, limit: number, windowMs: number): Promise<RateDecision> {
    this.assertThere();
    return this.engine.countRequest(key, limit, windowMs);
  }

  async forgetRequests(key: string): Promise<void> {
    this.assertThere();
    return this.engine.forgetRequests(key);
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

/** The disk as it would be after everything kept was written. */
export class KeptInMemory implements LastGood {
  private readonly kept = new Map<string, ServingSnapshot>();

  keep(last: ServingSnapshot): void {
    this.kept.set(`${last.appRef}/${last.channel}`, last);
  }

  async find(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    return this.kept.get(`${appRef}/${channel}`);
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
  const catalogs = new Catalogs({
    ledger: ledger.port,
    engine: engine.port,
    lastGood,
    log,
    metrics,
  });
  const firstOffers = new FirstOffers(
    ledger.port,
    metrics,
    log,
    (catalog, offered) => catalogs.noteOffered(catalog, offered),
    now,
  );
  const silent = createLog('silent');
  const stores = { ledger: ledger.port, engine: engine.port };
  const live = new LiveFeed(engine.port, metrics, silent);
  const check = new CheckUpdate({
    catalogs,
    firstOffers,
    labels: new DeviceLabels({ ...stores, metrics, log: silent }),
    checkIns: new CheckIns(engine.port, live, metrics, silent),
    metrics,
  });
  return { ledger, engine, lastGood, metrics, log, warnings, catalogs, firstOffers, check };
}

export type ServingNode = ReturnType<typeof servingNode>;

/** The state of a channel of app `acme`; its newest release is 1.0.<revision>. */
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

/** The revision a node serves a channel of `acme` at; undefined when it is not loaded. */
export function servedRevision({ catalogs }: Pick<ServingNode, 'catalogs'>, channel = 'stable') {
  return catalogs.peek('acme', channel)?.catalog?.snapshot.revision;
}

export function engineAway(): Unavailable {
  return new Unavailable('engine', new Error('connection refused'));
}

/** Lets everything go on that does not wait for a timer or for a test. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
