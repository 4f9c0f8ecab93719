// The labels of a ledger, by the rule of `merge_label_write` in the function/labels.sql of store/ledger.

import { LIMIT } from '../../src/contract/limit.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { type CheckIn, coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import type { CheckKind, LabelChanges, RecordedLabels } from '../../src/store/fleet-ledger.ts';
import type { DeviceName, StoredLabels } from '../../src/store/label-store.ts';

/** Milliseconds in which labels that a device has are not written again. */
const FRESHNESS_MS = 300_000;

type Timed = { readonly value: string; readonly at: number };
type Row = {
  readonly labels: ReadonlyMap<string, Timed>;
  readonly revision: number;
  readonly position: number;
  readonly lastSeen: number;
};

export class LabelLedger {
  /** Milliseconds since 1970. */
  now = 1_790_000_000_000;
  isAway = false;
  private readonly rows = new Map<string, Row>();
  private readonly deletedAt = new Map<string, number>();
  private position = 0;
  private epoch = 1;

  async readLabels(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]> {
    this.demand();
    return devices.map(({ deviceId }) => {
      return { ...this.find(deviceId), isRecorded: this.rows.has(deviceId) };
    });
  }

  async readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges> {
    this.demand();
    const rows = [...this.rows].sort(([, left], [, right]) => left.position - right.position);
    const newest = rows.at(-1)?.[1].position ?? 0;
    const changed = rows
      .filter(([, { position }]) => position > (after ?? newest))
      .slice(0, limit)
      .map(([deviceId, { position }]) => ({ ...this.find(deviceId), position }));
    return { epoch: this.epoch, newest, changed };
  }

  /** Records check-ins; returns the labels of the devices whose check-in carried some. */
  async record(checkIns: readonly CheckIn[], kind: CheckKind): Promise<readonly StoredLabels[]> {
    this.demand();
    return coalesceCheckIns(checkIns).flatMap((sent) => {
      const { deviceId } = sent;
      const deletedAt = this.deletedAt.get(deviceId) ?? 0;
      if (kind === 'queued' && sent.at <= deletedAt) return [];
      const checkIn = kind === 'queued' ? withoutLabelsUntil(deletedAt, sent) : sent;
      const { labels } = checkIn;
      this.write(checkIn, kind);
      return labels === undefined || labels.size === 0 ? [] : [this.find(deviceId)];
    });
  }

  delete(deviceId: string): void {
    this.demand();
    if (this.rows.delete(deviceId)) this.deletedAt.set(deviceId, this.now);
  }

  has(deviceId: string): boolean {
    return this.rows.has(deviceId);
  }

  /** Becomes an earlier copy of itself, as after a restored backup. */
  goBack(deviceId: string): void {
    this.rows.delete(deviceId);
    this.epoch += 1;
  }

  find(deviceId: string): StoredLabels {
    const row = this.rows.get(deviceId);
    const entries = [...(row?.labels ?? [])];
    return {
      appId: 'app_1',
      deviceId,
      labels: new Map(entries.map(([key, { value }]) => [key, value])),
      times: new Map(entries.map(([key, { at }]) => [key, at])),
      revision: row?.revision ?? 0,
    };
  }

  private write(checkIn: CheckIn, kind: CheckKind): void {
    const { deviceId, labels = new Map<string, string>(), labelTimes } = checkIn;
    const old = this.rows.get(deviceId);
    const present = old !== undefined && old.lastSeen >= this.now ? this.now + 1 : this.now;
    const at = kind === 'awaited' ? present : Math.min(checkIn.at, this.now);
    const written = new Map(
      [...labels].map(([key, value]) => {
        const sentAt = kind === 'awaited' ? at : (labelTimes?.get(key) ?? at);
        return [key, { value, at: Math.min(sentAt, at) }];
      }),
    );
    const stored = old?.labels ?? new Map<string, Timed>();
    const isFresh = old !== undefined && at < old.lastSeen + FRESHNESS_MS;
    const hasAll = [...written].every(([key, { value }]) => stored.get(key)?.value === value);
    const next = isFresh && hasAll && kind === 'queued' ? stored : mergeTimed(stored, written);
    const isChanged = !hasSameValues(stored, next);
    this.rows.set(deviceId, {
      labels: next,
      revision: (old?.revision ?? 0) + (isChanged ? 1 : 0),
      position: isChanged ? ++this.position : (old?.position ?? 0),
      lastSeen: Math.max(old?.lastSeen ?? 0, at),
    });
  }

  private demand(): void {
    if (this.isAway) throw new Unavailable('ledger', 'away');
  }
}

/** Returns a check-in without labels of an earlier one that it was merged with, and that is older. */
function withoutLabelsUntil(ms: number, checkIn: CheckIn): CheckIn {
  const { labels, labelTimes, at } = checkIn;
  if (labels === undefined) return checkIn;
  const kept = [...labels].filter(([key]) => (labelTimes?.get(key) ?? at) > ms);
  return { ...checkIn, labels: kept.length === 0 ? undefined : new Map(kept) };
}

/** Returns of each key the newest write, the stored one on a tie: those of the newest first, then by key. */
function mergeTimed(
  stored: ReadonlyMap<string, Timed>,
  written: ReadonlyMap<string, Timed>,
): ReadonlyMap<string, Timed> {
  const merged = new Map(stored);
  for (const [key, label] of written) {
    if ((merged.get(key)?.at ?? -1) < label.at) merged.set(key, label);
  }
  const newest = Math.max(...[...merged.values()].map(({ at }) => at));
  const entries = [...merged].sort(([left, { at: leftAt }], [right, { at: rightAt }]) => {
    const rank = Number(rightAt === newest) - Number(leftAt === newest);
    return rank || (left < right ? -1 : 1);
  });
  const kept = entries.slice(0, LIMIT.labelCountMax);
  return new Map(kept.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function hasSameValues(
  left: ReadonlyMap<string, Timed>,
  right: ReadonlyMap<string, Timed>,
): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([key, { value }]) => right.get(key)?.value === value);
}
