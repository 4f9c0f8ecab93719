// What people and orchestrators read and change about the fleet: views for the console, reports of devices,
// failure reports, and the deletion of devices. Counts come from the counters that the drain maintains, never
// from a scan of the device table.

import type { Caller } from '../access/api-keys.ts';
import type {
  AdoptionPoint,
  AdoptionStepPoint,
  FleetNow,
  LiveEvents,
  ShownDevice,
} from '../contract/console-fleet.ts';
import { invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import type { AdoptionStep } from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import { foldPlatform } from '../domain/decision/artifact/artifact.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { type CheckIn, coalesceCheckIns } from '../domain/fleet/check-in.ts';
import { internContext, internVersion } from '../domain/fleet/check-in-pack.ts';
import { mistakenIdIn } from '../domain/fleet/mistaken-id.ts';
import type { NetworkWords } from '../domain/fleet/network-words.ts';
import { Batcher } from '../flow/batcher.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DevicePurge, PurgePlace, ReportedFailure } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { ActionRecord } from './action-record.ts';
import type { CheckInBuffer } from './check-in-buffer.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { type ActivityBroadcast, LivePlaces, type LiveViewer } from './live-activity.ts';
import { type MistakenIds, noteMistakes } from './mistaken-ids.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Milliseconds within which a device counts as seen now; more than its recorded `lastSeen` may be late. */
const NOW_MS = 15 * 60_000;
const ADOPTION_DEFAULT_MS = WEEK_MS;
const HOURLY_MAX_MS = 31 * DAY_MS;

/** Receives live events; `end` is the last one. */
type LiveSink = {
  send(event: 'check-ins', data: LiveEvents['check-ins']): void;
  end(event: 'end', data: LiveEvents['end']): void;
};

/** Starts sending live events and returns the function that stops it. */
type LiveSource = (sink: LiveSink) => () => void;

export class ViewFleet {
  private readonly places = new LivePlaces();

  constructor(
    private readonly ledger: Ledger,
    private readonly live: ActivityBroadcast,
  ) {}

  /** Returns a device with its version changes, its actions, and what each release came to on it. */
  async readDevice(appId: string, deviceId: string): Promise<Outcome<ShownDevice>> {
    const device = await this.ledger.readDevice(appId, deviceId);
    if (isFailure(device)) return device;
    const releases = await this.ledger.listDeviceReleases(appId, deviceId);
    return { ...device, ...(await this.ledger.readShownActions(appId, deviceId)), releases };
  }

  /**
   * Returns the number of devices by channel, version and platform, and how many were seen in the last
   * quarter of an hour, day and week (estimates for large fleets). `channel` leaves out all other channels.
   */
  async readFleet(
    appId: string,
    channel: string | undefined,
    nowMs: number,
  ): Promise<Outcome<FleetNow>> {
    const cells = await this.ledger.readFleet(appId);
    if (isFailure(cells)) return cells;
    const since = [NOW_MS, DAY_MS, WEEK_MS].map((ms) => isoTime(nowMs - ms));
    const { total, seen, isEstimate } = await this.ledger.countSeen(appId, channel, since);
    const [now = 0, day = 0, week = 0] = seen;
    const shown = channel === undefined ? cells : cells.filter((cell) => cell.channel === channel);
    return { cells: shown, total, now, day, week, isEstimate };
  }

  /** Reads the adoption series in steps, oldest first, from `since` (default: a week ago). */
  async readAdoptionSteps(
    appId: string,
    wanted: {
      readonly since: string | undefined;
      readonly step: AdoptionStep;
      readonly channel: string | undefined;
    },
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionStepPoint[] }>> {
    const since = wanted.since ?? isoTime(nowMs - ADOPTION_DEFAULT_MS);
    if (wanted.step === 'hour' && Date.parse(since) < nowMs - HOURLY_MAX_MS) {
      return invalidField('since', 'Must be at most 31 days ago for hours');
    }
    return { points: await this.ledger.readAdoptionSteps(appId, { ...wanted, since }) };
  }

  /** Returns hourly counts from `since` (RFC 3339, default: a week ago). */
  async readAdoption(
    app: string,
    since: string | undefined,
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionPoint[] }>> {
    const from = since ?? isoTime(nowMs - ADOPTION_DEFAULT_MS);
    const points = await this.ledger.readAdoption(app, from);
    return isFailure(points) ? points : { points };
  }

  /** Returns the live events of an app's check-ins; a refusal when too many watch. */
  watch(appId: string, viewer: LiveViewer): Outcome<LiveSource> {
    const refusal = this.places.refusal(viewer);
    if (refusal !== undefined) return refusal;
    return (sink) => {
      // Takes the place only now, because a client that had left by now would never give it back. Of several
      // that were admitted at the same time, some may find no place left.
      const leave = this.places.take(viewer);
      if (leave === undefined) {
        sink.end('end', { reason: 'too-many' });
        return () => undefined;
      }
      const stop = this.live.watch(appId, (activity) => sink.send('check-ins', activity));
      return () => {
        stop();
        leave();
      };
    };
  }
}

// Fleet reports: an orchestrator reports the state of devices that never ask by themselves. A report is
// recorded before it is answered, and every node's next decision takes it into account.

type ReportedDevice = {
  readonly deviceId: string;
  /** Version in canonical form. */
  readonly version: string;
  readonly platform: string;
  readonly arch?: string | undefined;
  readonly channel: string;
  readonly labels?: Labels | undefined;
  /** Version that the device could not install. */
  readonly failed?: { readonly version: string; readonly reason?: string | undefined } | undefined;
};

type FleetReport = { readonly app: string; readonly devices: readonly ReportedDevice[] };

export type ReportFleetDependencies = {
  readonly ledger: Pick<Ledger, 'findApp' | 'recordReport' | 'recordReportedFailures'>;
  readonly metrics: Pick<Metrics, 'failures'>;
  readonly labels: DeviceLabels;
  readonly live: ActivityBroadcast;
  readonly mistakenIds: Pick<MistakenIds, 'note'>;
  readonly actions: Pick<ActionRecord, 'tellVersions'>;
};

/**
 * Records a report. If it names a device twice, the last state counts, with the labels merged in order.
 * Devices with a mistaken id are counted and not recorded.
 */
export async function reportFleet(
  { ledger, metrics, labels, live, mistakenIds, actions }: ReportFleetDependencies,
  caller: Caller,
  report: FleetReport,
  nowMs: number,
): Promise<Outcome<{ app: string; received: number }>> {
  const app = await ledger.findApp(caller.scope, report.app);
  if (isFailure(app)) return app;
  const devices = report.devices.filter(({ deviceId }) => mistakenIdIn(deviceId) === undefined);
  const checkIns = devices.map((device) => describe(app.id, device, nowMs));
  const distinct = coalesceCheckIns(checkIns);
  const recorded = await ledger.recordReport(distinct, caller.actor);
  if (isFailure(recorded)) return recorded;
  const failures = devices.flatMap((device) => failureOf(app.id, device));
  const refused =
    failures.length === 0 ? undefined : await ledger.recordReportedFailures(failures, caller.actor);
  if (refused !== undefined) return refused;
  metrics.failures.of(app.ref).reported.count += failures.length;
  await labels.remember(recorded, distinct, 'awaited');
  const told = distinct.map(({ deviceId, version = '' }) => [deviceId, version] as const);
  await actions.tellVersions(app.id, new Map(told));
  for (const checkIn of distinct) live.note(checkIn);
  noteMistakes(mistakenIds, app, report.devices);
  return { app: app.ref, received: report.devices.length };
}

function failureOf(
  appId: string,
  { failed, deviceId, channel, version }: ReportedDevice,
): readonly ReportedFailure[] {
  if (failed === undefined) return [];
  const { version: canonicalVersion, reason } = failed;
  const network = undefined;
  return [{ appId, channel, deviceId, runs: version, canonicalVersion, reason, network }];
}

function describe(appId: string, device: ReportedDevice, at: number): CheckIn {
  const platform = foldPlatform(device.platform);
  return {
    appId,
    deviceId: device.deviceId,
    channel: device.channel,
    version: device.version,
    platform,
    arch: foldArch(device.arch, platform),
    source: 'push',
    client: 'push',
    at,
    labels: device.labels,
    offeredReleaseId: undefined,
  };
}

// Deletes devices that should never have been recorded, such as those that a client has invented: a few at a
// time, so that check-ins and reports do not wait for long. A call works for two seconds and returns where
// the next call continues.

type PurgeDependencies = {
  readonly ledger: Pick<Ledger, 'purgeDevices' | 'countPurgeable'>;
  readonly labels: Pick<DeviceLabels, 'forget'>;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

type PurgeCall = {
  readonly purge: DevicePurge;
  /** Device id after which to continue; undefined for the first call. */
  readonly after: string | undefined;
  /** Whether to count the devices instead of deleting them. */
  readonly isDryRun: boolean;
};

type PurgeResult = {
  /** Number of devices that this call has deleted, or would have. */
  readonly devices: number;
  /** Device id after which the next call continues; null when no devices are left to look at. */
  readonly next: string | null;
};

/** Milliseconds after which a call begins no further part, so that its answer does not take long. */
const WORK_MS_MAX = 2000;

export class PurgeDevices {
  private readonly now: () => number;

  constructor(private readonly dependencies: PurgeDependencies) {
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Deletes devices, or counts them. Rejects with `Unavailable` when a store does not answer; what was
   * deleted by then stays deleted, and the same call again continues.
   */
  async purge(call: PurgeCall, actor: Actor): Promise<Outcome<PurgeResult>> {
    const end = this.now() + WORK_MS_MAX;
    let place: PurgePlace = { after: call.after, auditEntryId: undefined, devices: 0 };
    do {
      const reached = await this.purgePart(call, place, actor);
      if (isFailure(reached)) return reached;
      place = reached;
    } while (place.after !== undefined && this.now() < end);
    return { devices: place.devices, next: place.after ?? null };
  }

  private async purgePart(
    { purge, isDryRun }: PurgeCall,
    place: PurgePlace,
    actor: Actor,
  ): Promise<Outcome<PurgePlace>> {
    const { ledger, labels } = this.dependencies;
    if (isDryRun) {
      const { after, devices } = await ledger.countPurgeable(purge, place.after);
      return { ...place, after, devices: place.devices + devices };
    }
    const done = await ledger.purgeDevices(purge, place, actor);
    if (isFailure(done)) return done;
    // After the deletion, so that this also drops what a node cached just before it.
    if (done.purged.length > 0) {
      await labels.forget(done.purged.map((deviceId) => ({ appId: purge.app.id, deviceId })));
    }
    return done.place;
  }
}

// Failures that devices report by themselves. Each is recorded, many at a time, before it is answered, and
// counts as a check-in of the version that the device runs.

const BATCH_SIZE_MAX = 500;
/** Maximum number of failures that wait for the ledger; further ones are refused with 503. */
const PENDING_MAX = 2000;

/** Device that reports a failure, as read from the request's path and the client's IP address. */
type FailingDevice = Pick<CheckIn, 'platform' | 'arch'> & {
  readonly appRef: string;
  readonly words: NetworkWords;
};

type FailureReportsDependencies = {
  readonly ledger: Pick<Ledger, 'recordFailures'>;
  readonly checkIns: Pick<CheckInBuffer, 'add'>;
  readonly clock: Pick<LedgerClock, 'now'>;
  readonly metrics: Pick<Metrics, 'failures'>;
};

export class FailureReports {
  private readonly batcher: Batcher<ReportedFailure, undefined>;

  constructor(private readonly dependencies: FailureReportsDependencies) {
    this.batcher = new Batcher({
      ask: async (failures) => {
        await dependencies.ledger.recordFailures(failures);
        return failures.map(() => undefined);
      },
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: 1,
      pendingMax: PENDING_MAX,
    });
  }

  /** Records a failure. Rejects with `Unavailable` when the ledger does not answer or too many wait. */
  async note(
    failure: ReportedFailure,
    { appRef, platform, arch, words }: FailingDevice,
  ): Promise<void> {
    const { checkIns, clock, metrics } = this.dependencies;
    const { appId, channel, runs, deviceId } = failure;
    const context = internContext({
      ...{ appId, channel, platform, arch, source: 'pull', client: undefined, bundle: undefined },
      offeredReleaseId: undefined,
    });
    checkIns.add(context, internVersion(runs), deviceId, clock.now(), undefined, words);
    await this.batcher.ask(failure);
    metrics.failures.of(appRef).reported.count += 1;
  }
}
