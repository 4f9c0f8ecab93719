// Recording of check-ins of devices that asked themselves. A device's id is whatever its request says, so
// anybody could fill the record with devices that do not exist: how many new ones are recorded is bounded, by
// the network that they ask from and by app. A device beyond a bound is answered like any other, and recorded
// when it asks again later.

import { type CheckIn, deviceKey } from '../domain/fleet/check-in.ts';
import { isPrivateNetwork } from '../domain/fleet/network-words.ts';
import type { Log } from '../observe/log.ts';
import type {
  AdmissionBounds,
  CheckKind,
  FleetLedger,
  RecordedChecks,
  UnadmittedCheck,
} from '../store/fleet-ledger.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { RecordedDevices } from './recorded-devices.ts';

export type AdmissionDependencies = {
  readonly ledger: Pick<FleetLedger, 'recordCheckIns' | 'recordAwaited' | 'recordChecks'>;
  /** Memory of the devices that this process has recorded; without one, the ledger looks for all. */
  readonly recorded?: RecordedDevices;
  readonly bounds: AdmissionBounds;
  /** Number of proxies whose forwarded addresses are trusted (`TRUST_PROXY`). */
  readonly trustedProxies: number;
  readonly log: Pick<Log, 'warn'>;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

/** Least time in milliseconds between two warnings of a kind: a flood lasts for hours. */
const WARNING_INTERVAL_MS = 60_000;

export class Admission {
  private readonly dependencies: AdmissionDependencies;
  private readonly now: () => number;
  private readonly nextWarningAt = { bound: 0, address: 0 };
  /** Check-ins that were not admitted since the last warning. */
  private unadmittedCount = 0;

  constructor(dependencies: AdmissionDependencies) {
    this.dependencies = dependencies;
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Records check-ins of distinct devices, except those of new devices beyond the bounds. `writer` is the
   * name of a caller that remembers what it recorded. Rejects with `Unavailable` when the ledger does not
   * answer.
   */
  async record(
    checkIns: readonly CheckIn[],
    kind: CheckKind,
    writer?: string,
  ): Promise<RecordedChecks> {
    const { ledger, bounds, recorded } = this.dependencies;
    const isOpen = bounds.perNetwork === 0 && bounds.perApp === 0;
    const isRecorded = (device: DeviceName) => this.isRecorded(device);
    if (writer === undefined && (isOpen || checkIns.every(isRecorded))) {
      const labels = await (kind === 'queued'
        ? ledger.recordCheckIns(checkIns)
        : ledger.recordAwaited(checkIns));
      if (recorded !== undefined && kind === 'awaited') note(recorded, checkIns, []);
      return { labels, unadmitted: [], left: [] };
    }
    const isKnown = isOpen ? () => true : isRecorded;
    const result = await ledger.recordChecks(checkIns, kind, bounds, isKnown, writer);
    if (recorded !== undefined) note(recorded, checkIns, result.unadmitted);
    if (result.unadmitted.length > 0) this.warn(result.unadmitted);
    return result;
  }

  /** Whether this process knows the device to be on record, so that no bound keeps its check-ins from it. */
  isRecorded(device: DeviceName): boolean {
    return this.dependencies.recorded?.has(device) === true;
  }

  /** Remembers a device that is on record. */
  learn(device: DeviceName): void {
    this.dependencies.recorded?.note(device);
  }

  private warn(unadmitted: readonly UnadmittedCheck[]): void {
    const { log, trustedProxies } = this.dependencies;
    this.unadmittedCount += unadmitted.length;
    const [first] = unadmitted;
    if (first !== undefined && this.isDue('bound')) {
      const details = { bound: first.bound, app: first.appId, checkIns: this.unadmittedCount };
      this.unadmittedCount = 0;
      log.warn(details, 'new devices are not recorded: there are too many');
    }
    const near = unadmitted.find(
      ({ bound, network = '' }) => bound === 'network' && isPrivateNetwork(network),
    );
    if (near !== undefined && this.isDue('address')) {
      log.warn(
        { address: near.network, TRUST_PROXY: trustedProxies },
        'many new devices ask from one private address: TRUST_PROXY may be wrong',
      );
    }
  }

  private isDue(kind: keyof Admission['nextWarningAt']): boolean {
    const now = this.now();
    if (now < this.nextWarningAt[kind]) return false;
    this.nextWarningAt[kind] = now + WARNING_INTERVAL_MS;
    return true;
  }
}

/** Remembers the devices that were recorded: all but those that were not admitted. */
function note(
  recorded: RecordedDevices,
  checkIns: readonly CheckIn[],
  unadmitted: readonly UnadmittedCheck[],
): void {
  const missing = new Set(unadmitted.map(deviceKey));
  for (const checkIn of checkIns) {
    if (!recorded.has(checkIn) && !missing.has(deviceKey(checkIn))) recorded.note(checkIn);
  }
}
