// Check-ins, failures and labels of edges' devices. An edge uploads its check-ins as it received them, and
// they are processed like this node's own. Apps that an edge may not serve do not exist for it.

import { LRUCache } from 'lru-cache';
import type {
  EdgeCheckInsAnswer,
  EdgeLabelChangesAnswer,
  EdgeLabels,
  EdgeLabelsAnswer,
  EdgeRecordedAnswer,
} from '../../contract/edge.ts';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable, whenAway } from '../../contract/store-fault.ts';
import { isFoldedAway, isStorable } from '../../contract/text.ts';
import { devicePart } from '../../domain/decision/hashes.ts';
import { type CheckIn, deviceKey } from '../../domain/fleet/check-in.ts';
import { type CheckInPack, CheckInPacker } from '../../domain/fleet/check-in-pack.ts';
import { packCheckIn } from '../../domain/fleet/check-in-payload.ts';
import { entriesOf } from '../../domain/fleet/labels.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';
import type { Admission } from '../../fleet/admission.ts';
import type { DeviceLabels } from '../../fleet/device-labels.ts';
import { pause } from '../../flow/pause.ts';
import type { CheckInQueue } from '../../store/check-in-queue.ts';
import type { EdgeScope } from '../../store/console-ledger.ts';
import type { ReportedFailure } from '../../store/fleet-ledger.ts';
import type { DeviceName, StoredLabels } from '../../store/label-store.ts';
import type { Ledger } from '../../store/ledger.ts';

export type EdgeDevicesDependencies = {
  readonly ledger: Pick<
    Ledger,
    'readLabels' | 'readLabelChanges' | 'recordFailures' | 'findReleaseApps'
  >;
  readonly queue: Pick<CheckInQueue, 'streams' | 'appendCheckIns' | 'ageOfCheckIns'>;
  /** Whether the queue ends with this process: then check-ins are only accepted once they are recorded. */
  readonly isQueueInProcess: boolean;
  readonly admission: Pick<Admission, 'record'>;
  readonly labels: Pick<DeviceLabels, 'remember'>;
  /** Returns those of these app ids that an edge of this scope may serve. */
  readonly servedOf: (scope: EdgeScope, appIds: Iterable<string>) => Promise<ReadonlySet<string>>;
};

/** Maximum number of check-ins in a batch for the queue. */
const BATCH_SIZE_MAX = 2000;
/** Maximum wait in milliseconds until check-ins are recorded. */
const RECORDED_WAIT_MS_MAX = 8000;
const RECORDED_POLL_MS = 50;
/** Maximum number of releases whose app, which never changes, is cached. */
const RELEASES_MAX = 10_000;

export class EdgeDevices {
  private readonly releaseApps = new LRUCache<string, string>({ max: RELEASES_MAX });

  constructor(private readonly dependencies: EdgeDevicesDependencies) {}

  /** Reads the recorded labels of devices, in order; an unknown device has none, at revision 0. */
  async readLabels(scope: EdgeScope, devices: readonly DeviceName[]): Promise<EdgeLabelsAnswer> {
    const served = await this.servedAmong(scope, devices);
    const read = await this.dependencies.ledger.readLabels(devices);
    const own = read.map((each) =>
      served.has(each.appId)
        ? each
        : { ...each, labels: new Map(), times: new Map(), revision: 0, isRecorded: false },
    );
    const areRecorded = own.map(({ isRecorded }) => isRecorded);
    return { kind: 'labels', labels: own.map(labelsOf), areRecorded };
  }

  /** Reads changes of labels after a position; undefined reads only the newest position. */
  async readLabelChanges(
    scope: EdgeScope,
    after: number | undefined,
  ): Promise<EdgeLabelChangesAnswer> {
    const { ledger, queue } = this.dependencies;
    const limit = LIMIT.edgeDevicesMax;
    // Before the changes, which then have all that is recorded by now.
    const unrecordedMs = await queue.ageOfCheckIns().catch(whenAway(() => null));
    const { epoch, newest, changed } = await ledger.readLabelChanges(after, limit);
    const served = await this.servedAmong(scope, changed);
    return {
      kind: 'label-changes',
      epoch,
      newest,
      through: changed.length < limit ? newest : (changed.at(-1)?.position ?? newest),
      unrecordedMs,
      changed: changed
        .filter(({ appId }) => served.has(appId))
        .map((each) => [...labelsOf(each), each.position]),
    };
  }

  /**
   * Accepts check-ins. When it resolves, they are as safe as this node's own, or recorded if the queue is in
   * this process. Rejects with `Unavailable` if not all were accepted; uploading them again does no harm.
   */
  async take(scope: EdgeScope, checkIns: readonly CheckIn[]): Promise<EdgeCheckInsAnswer> {
    const { queue, isQueueInProcess } = this.dependencies;
    const good = await this.goodOf(scope, checkIns);
    const batches = packByStream(good, queue.streams);
    const appendedAt = performance.now();
    for (const { pack, stream } of batches) {
      if ((await queue.appendCheckIns(pack, stream)) === 'full') {
        throw new Unavailable('engine', 'the queue of check-ins is full');
      }
    }
    if (isQueueInProcess && batches.length > 0) await this.recorded(appendedAt);
    return { kind: 'check-ins', accepted: good.length, dropped: checkIns.length - good.length };
  }

  /** Records check-ins of distinct devices whose edge waits for it, because of their labels. */
  async record(scope: EdgeScope, checkIns: readonly CheckIn[]): Promise<EdgeRecordedAnswer> {
    const { admission, labels } = this.dependencies;
    const good = await this.goodOf(scope, checkIns);
    const { labels: stored, unadmitted } = await admission.record(good, 'awaited');
    await labels.remember(stored, good, 'awaited');
    const taken = new Set(good.map(deviceKey));
    const left = checkIns.filter((each) => !taken.has(deviceKey(each)));
    return {
      kind: 'recorded',
      labels: stored.map(labelsOf),
      unadmitted: [...unadmitted, ...left].map(({ appId, deviceId }) => [appId, deviceId]),
    };
  }

  /** Records failures that devices reported. */
  async reportFailures(
    scope: EdgeScope,
    failures: readonly ReportedFailure[],
  ): Promise<EdgeCheckInsAnswer> {
    const served = await this.servedAmong(scope, failures);
    const good = failures.filter((each) => served.has(each.appId) && isOwnId(each.deviceId));
    if (good.length > 0) await this.dependencies.ledger.recordFailures(good);
    return { kind: 'check-ins', accepted: good.length, dropped: failures.length - good.length };
  }

  /**
   * Returns the check-ins that an edge of this scope may upload. Removes offers of other apps' releases from
   * them, which would count in the signals of those releases.
   */
  private async goodOf(
    scope: EdgeScope,
    checkIns: readonly CheckIn[],
  ): Promise<readonly CheckIn[]> {
    const served = await this.servedAmong(scope, checkIns);
    const good = checkIns.filter((each) => served.has(each.appId) && isRecordable(each));
    if (scope === null) return good;
    const offers = new Set(good.flatMap(({ offeredReleaseId }) => offeredReleaseId ?? []));
    const unknown = [...offers].filter((id) => !this.releaseApps.has(id));
    if (unknown.length > 0) {
      const found = await this.dependencies.ledger.findReleaseApps(unknown);
      for (const [id, appId] of found) this.releaseApps.set(id, appId);
    }
    return good.map((each) => {
      const offered = each.offeredReleaseId;
      const isOwn = offered === undefined || this.releaseApps.get(offered) === each.appId;
      return isOwn ? each : { ...each, offeredReleaseId: undefined };
    });
  }

  private servedAmong(
    scope: EdgeScope,
    named: readonly { readonly appId: string }[],
  ): Promise<ReadonlySet<string>> {
    return this.dependencies.servedOf(scope, new Set(named.map(({ appId }) => appId)));
  }

  /** Waits until check-ins appended before `appendedAt` are recorded. */
  private async recorded(appendedAt: number): Promise<void> {
    const { queue } = this.dependencies;
    const deadline = performance.now() + RECORDED_WAIT_MS_MAX;
    while (performance.now() < deadline) {
      // Measured before the age, which is of a later moment.
      const sinceMs = performance.now() - appendedAt;
      if ((await queue.ageOfCheckIns()) < sinceMs) return;
      await pause(RECORDED_POLL_MS);
    }
    throw new Unavailable('ledger', 'check-ins wait to be recorded');
  }
}

function labelsOf(stored: StoredLabels): EdgeLabels {
  const { appId, deviceId, revision } = stored;
  return [appId, deviceId, revision, entriesOf(stored)];
}

/** Returns whether a text is a device's own id: an edge of another version may accept more. */
function isOwnId(deviceId: string): boolean {
  return !isFoldedAway(deviceId) && mistakenIdIn(deviceId) === undefined;
}

/** Returns whether the ledger can store a check-in: an edge of another version may accept more. */
function isRecordable({ deviceId, version, at, labels = new Map() }: CheckIn): boolean {
  return (
    deviceId !== '' &&
    deviceId.length <= LIMIT.deviceIdLengthMax &&
    isOwnId(deviceId) &&
    isStorable(deviceId, version ?? '', ...labels.keys(), ...labels.values()) &&
    labels.size <= LIMIT.labelCountMax &&
    Number.isSafeInteger(Math.floor(at)) &&
    at > 0
  );
}

type StreamBatch = { readonly pack: CheckInPack; readonly stream: number };

/** Packs check-ins for the streams of their devices, in order. */
function packByStream(checkIns: readonly CheckIn[], streams: number): readonly StreamBatch[] {
  const packers = Array.from({ length: streams }, () => new CheckInPacker());
  const batches: StreamBatch[] = [];
  for (const checkIn of checkIns) {
    const stream = devicePart(checkIn.appId, checkIn.deviceId) & (streams - 1);
    const packer = packers[stream] as CheckInPacker;
    packCheckIn(packer, checkIn);
    if (packer.size === BATCH_SIZE_MAX) batches.push({ pack: packer.take(), stream });
  }
  for (const [stream, packer] of packers.entries()) {
    if (packer.size > 0) batches.push({ pack: packer.take(), stream });
  }
  return batches;
}
