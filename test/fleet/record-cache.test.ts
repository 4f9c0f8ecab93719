// Tests what a process leaves out of the record because it is there already: a ledger whose check-ins were
// sifted says of each device what one says that got them all.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { devicePart } from '../../src/domain/decision/hashes.ts';
import { type CheckIn, coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import { RecordMemory } from '../../src/fleet/record-cache.ts';
import type { DeviceWriter, RecordedChecks } from '../../src/store/fleet-ledger.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import '../support/property-runs.ts';

const FRESHNESS_MS = 300_000;
const HOUR_MS = 3_600_000;
/** Not at the begin of an hour, where the ledger may still be in the one before. */
const START = Date.UTC(2026, 0, 1, 10, 5);
const NONE: RecordedChecks = { labels: [], unadmitted: [], left: [] };

type Stored = CheckIn & { readonly offeredAt: number };

/** A ledger by the rules of the record: the newest facts win, and little news is left out. */
class RuledLedger {
  readonly stored = new Map<string, Stored>();
  readonly labels = new Map<string, string[]>();
  recordedCount = 0;
  private readonly writers = new Map<number, DeviceWriter>();
  private awaitedDevices: { part: number; number: number; appId: string; deviceId: string }[] = [];

  record(checkIns: readonly CheckIn[], writer: string): RecordedChecks {
    const left = checkIns.flatMap((each) => this.add(each, writer));
    this.recordedCount += checkIns.length;
    return { ...NONE, left };
  }

  recordAwaited(checkIn: CheckIn): void {
    const part = devicePart(checkIn.appId, checkIn.deviceId);
    const state = this.writerOf(part);
    const { appId, deviceId } = checkIn;
    this.awaitedDevices.push({ part, number: state.awaited + 1, appId, deviceId });
    this.writers.set(part, { ...state, awaited: state.awaited + 1 });
    this.add(checkIn, undefined);
  }

  async readWriters(parts: readonly number[]): Promise<readonly DeviceWriter[]> {
    return parts.map((part) => this.writerOf(part));
  }

  async readAwaited(parts: readonly number[], since: readonly number[], limit: number) {
    const found = this.awaitedDevices.filter(({ part, number }) => {
      const place = parts.indexOf(part);
      return place !== -1 && number > (since[place] ?? 0);
    });
    return found.length > limit ? undefined : found;
  }

  private writerOf(part: number): DeviceWriter {
    return this.writers.get(part) ?? { part, writer: '', turns: 0, awaited: 0 };
  }

  private add(checkIn: CheckIn, writer: string | undefined) {
    const { appId, deviceId, at, version, client, offeredReleaseId, labels } = checkIn;
    const part = devicePart(appId, deviceId);
    const state = this.writerOf(part);
    if (writer !== undefined && state.writer !== writer) {
      this.writers.set(part, { ...state, writer, turns: state.turns + 1 });
    }
    for (const [key, value] of labels ?? []) {
      const told = [...(this.labels.get(deviceId) ?? []), `${at} ${key}=${value}`];
      // What is recorded again tells them again.
      this.labels.set(deviceId, [...new Set(told)]);
    }
    const old = this.stored.get(deviceId);
    if (old === undefined) {
      this.stored.set(deviceId, { ...checkIn, offeredAt: offeredReleaseId === undefined ? 0 : at });
      return [];
    }
    const isNewer = at > old.at;
    const base = isNewer ? { ...old, ...checkIn } : old;
    const isOffered = offeredReleaseId !== undefined && at > old.offeredAt;
    const next: Stored = {
      ...base,
      version: isNewer ? (version ?? old.version) : (old.version ?? version),
      client: isNewer && client !== undefined ? client : old.client,
      bundle: isNewer && client !== undefined ? checkIn.bundle : old.bundle,
      offeredReleaseId: isOffered ? offeredReleaseId : old.offeredReleaseId,
      offeredAt: isOffered ? at : old.offeredAt,
      at: isNewer ? at : old.at,
    };
    const isNew =
      at >= old.at + FRESHNESS_MS ||
      hourOf(at) > hourOf(old.at) ||
      JSON.stringify(factsOf(next)) !== JSON.stringify(factsOf(old));
    if (isNew) this.stored.set(deviceId, next);
    return isNew && isNewer ? [] : [{ appId, deviceId, seenAt: old.at }];
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

function factsOf({
  channel,
  version,
  platform,
  arch,
  source,
  client,
  bundle,
  offeredReleaseId,
}: CheckIn) {
  const facts = [channel, version, platform, arch, source, client, bundle, offeredReleaseId];
  return facts.map((fact) => fact ?? null);
}

/** Process that records through a memory. */
class Recorder {
  readonly memory: RecordMemory;
  private readonly ledger: RuledLedger;

  constructor(ledger: RuledLedger, name = 'one') {
    this.ledger = ledger;
    this.memory = new RecordMemory(name, ledger, FRESHNESS_MS);
  }

  async record(...checkIns: readonly CheckIn[]): Promise<void> {
    const distinct = coalesceCheckIns(checkIns);
    await this.memory.confirm(distinct);
    const needed = this.memory.sift(distinct);
    this.memory.note(needed, this.ledger.record(needed, this.memory.writer));
  }

  /** Records a check-in without its answer. */
  async recordUnheard(checkIn: CheckIn): Promise<void> {
    await this.memory.confirm([checkIn]);
    this.ledger.record(this.memory.sift([checkIn]), this.memory.writer);
  }
}

/** Returns a recorder whose first turn is over: the ledger knows it. */
async function settled() {
  const ledger = new RuledLedger();
  const recorder = new Recorder(ledger);
  const seen = (overrides: Partial<CheckIn> = {}) => checkInOf('a', { at: START, ...overrides });
  await recorder.record(seen());
  await recorder.record(seen({ at: START + 1 }));
  ledger.recordedCount = 0;
  return { ledger, recorder, seen };
}

describe('a device that says nothing new', () => {
  it('is left out until its last-seen time would be too far behind', async () => {
    const { ledger, recorder, seen } = await settled();
    await recorder.record(seen({ at: START + 60_000 }));
    await recorder.record(seen({ at: START + FRESHNESS_MS - 5000 }));
    expect(ledger.recordedCount).toBe(0);
    await recorder.record(seen({ at: START + FRESHNESS_MS }));
    expect(ledger.recordedCount).toBe(1);
  });
});

describe('a fleet that outgrows the table of its part', () => {
  it('is left out or recorded, each device by what is known of it', async () => {
    const { ledger, recorder, seen } = await settled();
    const part = devicePart(seen().appId, 'a');
    const ids = Array.from({ length: 60_000 }, (_, index) => `device-${index}`)
      .filter((id) => devicePart(seen().appId, id) === part)
      .slice(0, 3000);
    // A version for every device, so that one which is taken for another is recorded.
    const fleet = (at: number, major: number) =>
      ids.map((deviceId, index) => seen({ deviceId, at, version: `${major}.0.${index}` }));
    await recorder.record(...fleet(START + 2, 1));
    expect(ledger.recordedCount).toBe(3000);
    await recorder.record(...fleet(START + 60_000, 1));
    expect(ledger.recordedCount).toBe(3000);
    await recorder.record(...fleet(START + 120_000, 2));
    expect(ledger.recordedCount).toBe(6000);
    await recorder.record(...fleet(START + 120_000 + FRESHNESS_MS, 2));
    expect(ledger.recordedCount).toBe(9000);
  });
});

const event = fc.record({
  by: fc.constantFrom('one', 'one', 'one', 'one', 'another', 'report', 'unheard'),
  device: fc.constantFrom('a', 'b', 'c'),
  pauseMs: fc.constantFrom(0, 1000, 40_000, 299_000, 400_000, HOUR_MS),
  version: fc.constantFrom('1.0.0', '1.0.0', '2.0.0', undefined),
  channel: fc.constantFrom('stable', 'stable', 'stable', 'beta'),
  client: fc.constantFrom('u' as const, 'u' as const, undefined, 'tauri' as const),
  offeredReleaseId: fc.constantFrom(undefined, undefined, 'rel_1', 'rel_2'),
  label: fc.constantFrom(undefined, undefined, undefined, '1', '2'),
  platform: fc.constantFrom('linux', 'linux', 'linux', 'linux', 'darwin'),
  arch: fc.constantFrom('x86_64', 'x86_64', 'x86_64', 'x86_64', 'aarch64'),
  source: fc.constantFrom('pull' as const, 'pull' as const, 'pull' as const, 'push' as const),
});

describe('whatever comes, from whomever', () => {
  it('the record says what it would say with every check-in, its last-seen times as late as they may be', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const [whole, sifted] = [new RuledLedger(), new RuledLedger()];
        const recorder = new Recorder(sifted);
        let at = START;
        for (const { by, device, pauseMs, label, ...facts } of events) {
          at += pauseMs + 1;
          const labels = label === undefined ? undefined : new Map([['label', label]]);
          const checkIn = checkInOf(device, { ...facts, at, labels });
          if (by === 'report') {
            whole.recordAwaited(checkIn);
            sifted.recordAwaited(checkIn);
            continue;
          }
          whole.record([checkIn], by === 'another' ? by : 'one');
          if (by === 'another') sifted.record([checkIn], by);
          // The connection broke before the answer came: the drain records it again.
          if (by === 'unheard') await recorder.recordUnheard(checkIn);
          if (by !== 'another') await recorder.record(checkIn);
        }
        expect(sifted.labels).toEqual(whole.labels);
        for (const [device, expected] of whole.stored) {
          const found = sifted.stored.get(device);
          expect(found && factsOf(found)).toEqual(factsOf(expected));
          expect(Math.abs((found?.at ?? 0) - expected.at)).toBeLessThan(FRESHNESS_MS);
          expect(hourOf(found?.at ?? 0)).toBe(hourOf(expected.at));
        }
      }),
    );
  });
});
