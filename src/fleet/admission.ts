// Records check-ins of devices that asked by themselves. A device's id is whatever its request says, so
// anybody could fill the record with devices that do not exist: the number of new devices that are recorded
// is bounded, for each network that they ask from and for each app. A new device beyond a bound gets the same
// answer as any other, and is recorded when it asks again later.

import { randomBytes } from 'node:crypto';
import { keyedHash } from '../domain/decision/hashes.ts';
import { type CheckIn, deviceKey } from '../domain/fleet/check-in.ts';
import { isPrivateNetwork } from '../domain/fleet/network-words.ts';
import type { Log } from '../observe/log.ts';
import type {
  AdmissionBounds,
  CheckKind,
  RecordedChecks,
  UnadmittedCheck,
} from '../store/fleet-ledger.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';

export type AdmissionDependencies = {
  readonly ledger: Pick<Ledger, 'recordCheckIns' | 'recordAwaited' | 'recordChecks'>;
  /** Memory of the devices that this process has recorded; if undefined, the ledger looks up every device. */
  readonly recorded?: RecordedDevices;
  readonly bounds: AdmissionBounds;
  /** Number of proxies whose forwarded addresses are trusted (`TRUST_PROXY`). */
  readonly trustedProxies: number;
  readonly log: Pick<Log, 'warn'>;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

/** Minimum time in milliseconds between two warnings of a kind, because a flood lasts for hours. */
const WARNING_INTERVAL_MS = 60_000;

export class Admission {
  private readonly now: () => number;
  private readonly nextWarningAt = { bound: 0, address: 0 };
  /** Check-ins that were not admitted since the last warning. */
  private unadmittedCount = 0;

  constructor(private readonly dependencies: AdmissionDependencies) {
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Records check-ins of distinct devices, except those of new devices beyond the bounds. `writer` is the
   * name of a caller that has a `RecordMemory`. Rejects with `Unavailable` when the ledger does not answer.
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

  /** Whether this process knows that the device is on record, so that no bound applies to its check-ins. */
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

// Memory of devices that are on record, so that the ledger need not look up a device again that this process
// has recorded lately. Its memory is fixed: a device that has no entry is looked up once more.
//
// An entry is valid for a day, because a device that was deleted meanwhile would be recorded again without a
// check of the bounds. So would a new device whose hash equals that of a known one. Strangers choose ids, so
// the hash has a key of its own in each process, and nobody can construct such an id.

/**
 * Number of sets, a power of two, with eight entries each: 16 MiB in all for two million devices, which the
 * machine provides only as it is used.
 */
const SETS = 2 ** 18;
const WAYS = 8;
const WORDS = 2;
const KEY_BYTES = 8;
const HOUR_MS = 3_600_000;
const HOURS_MAX = 24;
/** Bits of an entry's second word that hold the hour it was made in; the other bits are part of the hash. */
const HOUR_MASK = 0xff;

export class RecordedDevices {
  private readonly words = new Int32Array(SETS * WAYS * WORDS);
  private readonly key = new Int32Array(new Uint8Array(randomBytes(KEY_BYTES)).buffer);
  // Cached key of the latest app, a hash of its id: consecutive check-ins mostly belong to the same app.
  private appId: string | undefined;
  private readonly appKey = new Int32Array(2);
  /** Hash of the device that `find` looked for last; its first number also selects the set. */
  private readonly hash = new Int32Array(2);
  /** Index of the entry that is replaced next in a full set. */
  private turn = 0;

  /** `now` returns milliseconds that never go back. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Remembers that the device is on record. */
  note(device: DeviceName): void {
    const at = this.find(device) ?? this.placeForNew();
    this.words[at] = this.hash[0] as number;
    this.words[at + 1] = this.secondWord(this.hour());
  }

  /** Whether the device is known to be on record. */
  has(device: DeviceName): boolean {
    const at = this.find(device);
    if (at === undefined) return false;
    const age = (this.hour() - (this.words[at + 1] as number)) & HOUR_MASK;
    return age < HOURS_MAX;
  }

  /** Forgets a device. */
  forget(device: DeviceName): void {
    const at = this.find(device);
    if (at !== undefined) this.words.fill(0, at, at + WORDS);
  }

  /** Forgets all devices. */
  clear(): void {
    this.words.fill(0);
  }

  /** Returns the offset of the device's entry, or undefined; leaves the device's hash in `hash`. */
  private find(device: DeviceName): number | undefined {
    const { words, hash } = this;
    const { appId, deviceId } = device;
    if (appId !== this.appId) {
      keyedHash(appId, this.key, this.appKey);
      this.appId = appId;
    }
    keyedHash(deviceId, this.appKey, hash);
    const first = this.firstOfSet();
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      const isSame = ((words[at + 1] as number) & ~HOUR_MASK) === this.secondWord(0);
      if (isSame && words[at] === hash[0]) return at;
    }
    return undefined;
  }

  /** Returns the offset of an empty entry in the set of the device, else of the entry to replace next. */
  private placeForNew(): number {
    const first = this.firstOfSet();
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (this.words[at] === 0 && this.words[at + 1] === 0) return at;
    }
    this.turn = (this.turn + 1) % WAYS;
    return first + this.turn * WORDS;
  }

  private firstOfSet(): number {
    return ((this.hash[0] as number) & (SETS - 1)) * WAYS * WORDS;
  }

  private secondWord(hour: number): number {
    return ((this.hash[1] as number) & ~HOUR_MASK) | hour;
  }

  private hour(): number {
    return Math.floor(this.now() / HOUR_MS) & HOUR_MASK;
  }
}
