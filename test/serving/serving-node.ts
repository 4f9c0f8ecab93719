// Serving side of one node on a fake ledger, the memory engine and a disk kept in memory, which the tests of
// the operations share. A test sets faults on these parts.

import { isFailure } from '../../src/contract/failure.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { ArtifactCandidate } from '../../src/domain/decision/catalog.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { CheckInBuffer } from '../../src/fleet/check-in-buffer.ts';
import { DeviceLabels } from '../../src/fleet/device-labels.ts';
import { ActivityBroadcast } from '../../src/fleet/live-activity.ts';
import { MistakenIds } from '../../src/fleet/mistaken-ids.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import { CatalogRefresher } from '../../src/serving/catalog-refresher.ts';
import { type CheckQuery, checkQuery, checkScope } from '../../src/serving/catalog-slot.ts';
import { Catalogs } from '../../src/serving/catalogs.ts';
import { ChannelDirectory } from '../../src/serving/channel-directory.ts';
import { CheckUpdate } from '../../src/serving/check-update.ts';
import { SharedSnapshots } from '../../src/serving/cold-loads.ts';
import { FirstOffers, SharedOffers } from '../../src/serving/first-offers.ts';
import { LedgerRecovery, RememberedChannels } from '../../src/serving/ledger-recovery.ts';
import type { DiskSnapshots } from '../../src/store/disk-snapshots.ts';
import type { Announcement, Engine } from '../../src/store/engine.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { manifestOf, manifestQuestion } from '../../src/updater/manifest.ts';
import { device, release, snapshot, version } from '../domain/sample.ts';
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

/** Calls of an engine that only hand over a listener, or end it. */
const SILENT_CALLS = new Set(['subscribe', 'onActivity', 'onLabels', 'close']);

/** Memory engine that keeps its announcements, tells of a resumption, and rejects every call with `fault`. */
export function watchedEngine() {
  const engine = createMemoryEngine();
  const watch = {
    announced: [] as Announcement[],
    fault: undefined as Error | undefined,
    /** Tells the listener that the subscription has resumed. */
    resume: (): void => {},
  };
  const guarded = Object.entries(engine).map(([name, call]) => {
    if (typeof call !== 'function' || SILENT_CALLS.has(name)) return [name, call];
    const guardedCall = async (...args: readonly unknown[]) => {
      if (watch.fault !== undefined) throw watch.fault;
      if (name === 'announce') watch.announced.push(args[0] as Announcement);
      return (call as (...passed: readonly unknown[]) => unknown)(...args);
    };
    return [name, guardedCall];
  });
  return Object.assign(watch, Object.fromEntries(guarded) as Engine, {
    subscribe(listener: (announcement: Announcement) => void, onResumed: () => void): void {
      watch.resume = onResumed;
      engine.subscribe(listener, onResumed);
    },
  });
}

/** Last known snapshots in memory: a disk on which every write has ended. */
function diskInMemory(): DiskSnapshots {
  const kept = new Map<string, ServingSnapshot>();
  const nameOf = (...name: readonly string[]) => name.join('/');
  return {
    keep: (last) => void kept.set(nameOf(last.appRef, last.channel), last),
    find: async (...name) => kept.get(nameOf(...name)),
    list: async () => [...kept.values()],
    forget: (...name) => void kept.delete(nameOf(...name)),
    readRecord: async () => undefined,
    keepRecord: () => undefined,
    hasAny: async () => kept.size > 0,
    flush: async () => undefined,
  };
}

/** Builds the node; `now` is the clock of its first offers. */
export function servingNode(now?: () => number) {
  const ledger = new FakeLedger();
  const engine = watchedEngine();
  const diskSnapshots = diskInMemory();
  const metrics = new Metrics();
  const warnings: string[] = [];
  const log = new RareLog({
    warn: (_details: unknown, message = '') => void warnings.push(message),
  });
  const report = new KeptReport();
  const shared = new SharedSnapshots(engine, metrics);
  const parts = { ledger: ledger.port, engine, diskSnapshots, shared, report, log, metrics };
  const known = new ChannelDirectory(parts);
  const recovery = new LedgerRecovery(parts);
  const memory = new RememberedChannels(diskSnapshots, engine);
  const catalogs = new Catalogs({ ...parts, known, recovery, memory });
  const silent = createLog('silent');
  const refresher = new CatalogRefresher({ ...parts, catalogs, known, recovery, log: silent });
  const sharedOffers = new SharedOffers({ ...parts, catalogs, now });
  const firstOffers = new FirstOffers({ ...parts, shared: sharedOffers, now });
  const admission = openAdmission(ledger.port);
  const check = new CheckUpdate({
    catalogs,
    firstOffers,
    labels: new DeviceLabels({ ...parts, admission }),
    checkIns: new CheckInBuffer(
      engine,
      new ActivityBroadcast(engine, metrics, silent),
      metrics,
      silent,
    ),
    clock: { now: () => Date.now() },
    mistakenIds: new MistakenIds({ metrics, ledger: undefined, log }),
    metrics,
  });
  return {
    ...{ ledger, engine, diskSnapshots, metrics, log, warnings, known, catalogs, recovery, report },
    ...{ refresher, sharedOffers, firstOffers, check },
  };
}

export type ServingNode = ReturnType<typeof servingNode>;

/** Builds a node that has loaded the channel `stable` of `acme` in this state. */
export async function loadedNode(
  state: ServingSnapshot = channelAt(1),
  now?: () => number,
): Promise<ServingNode> {
  const node = servingNode(now);
  node.ledger.commit(state);
  await node.catalogs.find('acme', 'stable');
  return node;
}

/** Device that asks; without an id it leaves no check-in. */
export const DEVICE = {
  ...{ id: undefined, labelsTag: 0, network: new Int32Array(2) },
  ...device('device-1'),
};

/** Returns the version that a check is answered with, or the reason why there is none. */
export async function checkOf(
  { check }: ServingNode,
  query: CheckQuery<ArtifactCandidate> = queryOf('0.9.0'),
): Promise<string> {
  const settled = check.now(query, DEVICE) ?? (await check.later(query, DEVICE));
  if (isFailure(settled)) return settled.failure;
  const { plan, candidate, reason } = settled;
  if (candidate === undefined) return reason;
  return (JSON.parse(manifestOf(plan, candidate).toString()) as { version: string }).version;
}

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
