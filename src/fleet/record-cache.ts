// What this process knows of the record of the devices that it records, so that check-ins which say nothing
// new need not reach the ledger. It is sure of what it leaves out: never a version, a label or an offer.
//
//   confirm ──▶ sift ──▶ the rest is recorded ──▶ note
//
// It holds because of four things. The devices of a part are recorded from the queue by one process at a
// time. The ledger tells when somebody else has recorded a part meanwhile: then nothing of that part is known
// any more. It tells which devices were recorded for callers that waited, and waits for those that are just
// being recorded. And an entry is good for no longer than a last sighting may be behind, and never beyond its
// hour, which counts each device once. Where check-ins come out of their order, the later one that was left
// out is recorded with them.
//
// In bounded memory: a device that has no room is recorded as any other.

import { storableText } from '../contract/text.ts';
import { DEVICE_PARTS, devicePart } from '../domain/decision/hashes.ts';
import { type CheckIn, deviceKey, mergeCheckIns } from '../domain/fleet/check-in.ts';
import type { FleetLedger, RecordedChecks } from '../store/fleet-ledger.ts';
import type { DeviceName } from '../store/label-store.ts';
import { type DeviceSighting, SightingTable } from './sighting-table.ts';

/** Facts of a device as far as they are known; undefined where the record may have anything. */
type Facts = Pick<
  CheckIn,
  'channel' | 'version' | 'platform' | 'arch' | 'source' | 'client' | 'bundle' | 'offeredReleaseId'
>;

/** Maximum number of different facts, of which a fleet has a few hundred. Beyond it, all is forgotten. */
const FACTS_MAX = 2 ** 16;
/** Maximum number of devices that are read of those recorded for callers that waited. */
const AWAITED_MAX = 5000;
const HOUR_MS = 3_600_000;
/** How much earlier than its check-in a record counts: the ledger's clock may be a little behind. */
const CLOCK_SLACK_MS = 1000;

export class RecordMemory {
  /** Name under which this process records. */
  readonly writer: string;
  private readonly ledger: Pick<FleetLedger, 'readWriters' | 'readAwaited'>;
  private readonly freshnessMs: number;
  private readonly tables = Array.from({ length: DEVICE_PARTS }, () => new SightingTable());
  /** Turns of each part when it was confirmed last; undefined before. */
  private readonly turns: (number | undefined)[] = new Array(DEVICE_PARTS).fill(undefined);
  private readonly awaited: number[] = new Array(DEVICE_PARTS).fill(0);
  private readonly facts: Facts[] = [];
  private readonly factNumbers = new Map<string, number>();

  constructor(
    writer: string,
    ledger: Pick<FleetLedger, 'readWriters' | 'readAwaited'>,
    freshnessMs: number,
  ) {
    this.writer = writer;
    this.ledger = ledger;
    this.freshnessMs = freshnessMs;
  }

  /**
   * Forgets what is not certain any more of the devices of these check-ins. To be called before each `sift`.
   * Rejects with `Unavailable` when the ledger does not answer.
   */
  async confirm(checkIns: readonly CheckIn[]): Promise<void> {
    const parts = [...new Set(checkIns.map((each) => devicePart(each.appId, each.deviceId)))];
    const writers = await this.ledger.readWriters(parts);
    const followed = writers.filter(({ part, awaited }) => awaited !== this.awaited[part]);
    const devices =
      followed.length === 0
        ? []
        : await this.ledger.readAwaited(
            followed.map(({ part }) => part),
            followed.map(({ part }) => this.awaited[part] ?? 0),
            AWAITED_MAX,
          );
    for (const device of devices ?? []) this.tableOf(device).forget(device);
    for (const { part, writer, turns, awaited } of writers) {
      const isCertain =
        writer === this.writer &&
        turns === this.turns[part] &&
        (devices !== undefined || awaited === this.awaited[part]);
      if (!isCertain) this.tables[part]?.clear();
      this.turns[part] = turns;
      this.awaited[part] = awaited;
    }
  }

  /** Returns the check-ins, of distinct devices, that the record needs. */
  sift(checkIns: readonly CheckIn[]): CheckIn[] {
    const needed: CheckIn[] = [];
    for (const checkIn of checkIns) {
      const table = this.tableOf(checkIn);
      const known = table.find(checkIn);
      const facts = known === undefined ? undefined : this.facts[known.facts];
      if (known === undefined || facts === undefined) needed.push(checkIn);
      else if (this.isToldBy(known, facts, checkIn)) table.see(checkIn.at);
      else if (known.seenAt > checkIn.at)
        needed.push(mergeCheckIns(checkIn, sighting(checkIn, known, facts)));
      else needed.push(checkIn);
    }
    return needed;
  }

  /** Notes what was recorded: what the record now says of these devices. */
  note(checkIns: readonly CheckIn[], { unadmitted, left }: RecordedChecks): void {
    const seenAt = new Map(left.map((each) => [deviceKey(each), each.seenAt]));
    const missing = new Set(unadmitted.map(deviceKey));
    for (const checkIn of checkIns) {
      const key = deviceKey(checkIn);
      const seen = seenAt.get(key);
      // Somebody has seen it later: the record says what that one said.
      const isKnown = !missing.has(key) && (seen === undefined || seen <= checkIn.at);
      if (isKnown && storableText(checkIn.deviceId) === checkIn.deviceId) {
        this.keep(checkIn, seen ?? checkIn.at);
      } else this.tableOf(checkIn).forget(checkIn);
    }
  }

  private keep(checkIn: CheckIn, recordedAt: number): void {
    const table = this.tableOf(checkIn);
    const known = table.find(checkIn);
    const before = known === undefined ? undefined : this.facts[known.facts];
    const { channel, platform, arch, source } = checkIn;
    const version = checkIn.version ?? before?.version;
    const client = checkIn.client ?? before?.client;
    const bundle = checkIn.client === undefined ? before?.bundle : checkIn.bundle;
    const offeredReleaseId = checkIn.offeredReleaseId ?? before?.offeredReleaseId;
    const facts = { channel, version, platform, arch, source, client, bundle, offeredReleaseId };
    const at = recordedAt - CLOCK_SLACK_MS;
    table.put(checkIn, {
      facts: this.numberOf(facts),
      recordedAt: at,
      seenAt: checkIn.at,
    });
  }

  /** Whether the record says already what the check-in says, as closely as it has to. */
  private isToldBy(known: DeviceSighting, facts: Facts, checkIn: CheckIn): boolean {
    const { at, labels, offeredReleaseId, version, client } = checkIn;
    return (
      labels === undefined &&
      at >= known.recordedAt &&
      at < known.recordedAt + this.freshnessMs &&
      Math.floor(at / HOUR_MS) === Math.floor(known.recordedAt / HOUR_MS) &&
      checkIn.channel === facts.channel &&
      checkIn.platform === facts.platform &&
      checkIn.arch === facts.arch &&
      checkIn.source === facts.source &&
      (version === undefined || version === facts.version) &&
      (client === undefined || (client === facts.client && checkIn.bundle === facts.bundle)) &&
      (offeredReleaseId === undefined || offeredReleaseId === facts.offeredReleaseId)
    );
  }

  private tableOf({ appId, deviceId }: DeviceName): SightingTable {
    return this.tables[devicePart(appId, deviceId)] as SightingTable;
  }

  private numberOf(facts: Facts): number {
    const text = JSON.stringify(Object.values(facts).map((value) => value ?? null));
    const known = this.factNumbers.get(text);
    if (known !== undefined) return known;
    if (this.facts.length === FACTS_MAX) {
      for (const table of this.tables) table.clear();
      this.facts.length = 0;
      this.factNumbers.clear();
    }
    const number = this.facts.push(facts) - 1;
    this.factNumbers.set(text, number);
    return number;
  }
}

/** Returns the check-in of a device that was left out, as far as it matters to the record. */
function sighting({ appId, deviceId }: CheckIn, { seenAt }: DeviceSighting, facts: Facts): CheckIn {
  return { ...facts, appId, deviceId, at: seenAt, labels: undefined, offeredReleaseId: undefined };
}
