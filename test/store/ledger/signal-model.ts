// Plain model of the signals of releases: what each device did with each release, check-in by check-in.

import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { HOUR_MS, iso, MINUTE_MS } from './fleet-fixture.ts';

/** Minutes by which devices are told apart (docs/contract.md 27.6). */
const EDGES = [
  ...[0, 1, 2, 3, 4, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160],
  ...[2880, 4320, 5760, 7200, 10_080, 14_400, 20_160, 30_240, 43_200],
];

export type ModelRelease = {
  readonly id: string;
  readonly channel: string;
  readonly version: string;
  readonly publishedAt: number;
  isRolledBack: boolean;
};

type Did = {
  readonly known: number;
  readonly pushed: number;
  offeredAt?: number;
  installedAt?: number;
  installedOn?: string;
  revertedAt?: number;
};

type ModelDevice = {
  channel: string;
  version: string;
  source: string;
  firstSeen: number;
  firstReported: number;
  lastSeen: number;
  offeredAt: number;
  offer: string | undefined;
  readonly did: Map<string, Did>;
};

/** Versions of the tests, lowest first. */
export const VERSIONS = ['0.9.0', '1.0.0-rc.1', '1.0.0', '1.10.0'] as const;

export class SignalModel {
  readonly devices = new Map<string, ModelDevice>();
  private readonly releases: readonly ModelRelease[];
  private readonly follows: Readonly<Record<string, string>>;
  private readonly freshnessMs: number;

  constructor(
    releases: readonly ModelRelease[],
    follows: Readonly<Record<string, string>>,
    freshnessMs: number,
  ) {
    this.releases = releases;
    this.follows = follows;
    this.freshnessMs = freshnessMs;
  }

  add({ deviceId, channel, version = '', source, at, offeredReleaseId }: CheckIn): void {
    const old = this.devices.get(deviceId);
    const isNewer = old === undefined || at > old.lastSeen;
    const isOffered = offeredReleaseId !== undefined && (old === undefined || at > old.offeredAt);
    const isTold = version !== '' && (isNewer || old.version === '');
    const next: ModelDevice = {
      channel: isNewer ? channel : old.channel,
      version: isTold ? version : (old?.version ?? ''),
      source: isNewer ? source : old.source,
      firstSeen: Math.min(old?.firstSeen ?? at, at),
      firstReported: Math.min(
        old?.firstReported ?? Number.POSITIVE_INFINITY,
        source === 'push' ? at : Number.POSITIVE_INFINITY,
      ),
      lastSeen: isNewer ? at : old.lastSeen,
      offeredAt: isOffered ? at : (old?.offeredAt ?? Number.NEGATIVE_INFINITY),
      offer: isOffered ? offeredReleaseId : old?.offer,
      did: old?.did ?? new Map(),
    };
    const isElsewhere =
      old === undefined || next.channel !== old.channel || next.version !== old.version;
    const isNew =
      old === undefined ||
      isElsewhere ||
      Math.floor(next.lastSeen / HOUR_MS) !== Math.floor(old.lastSeen / HOUR_MS) ||
      next.source !== old.source ||
      at >= old.lastSeen + this.freshnessMs ||
      at < old.firstSeen ||
      next.offer !== old.offer;
    if (!isNew) return;
    this.devices.set(deviceId, next);
    const running = isTold ? this.releaseOf(next.channel, next.version) : undefined;
    for (const release of this.releases) {
      const before = next.did.get(release.id);
      const isGiven = isOffered && offeredReleaseId === release.id && next.offer !== old?.offer;
      const isFirst = isElsewhere || old.lastSeen < release.publishedAt;
      const isOn = running === release && at >= release.publishedAt && isFirst;
      if (before === undefined && (!(isGiven || isOn) || next.firstSeen > release.publishedAt)) {
        continue;
      }
      const did = before ?? scope(next, release);
      next.did.set(release.id, did);
      const wasOn = did.installedAt !== undefined;
      if (isGiven) did.offeredAt ??= at;
      if (isOn && !wasOn) Object.assign(did, { installedAt: at, installedOn: next.channel });
      const isLower = orderOf(next.version) < orderOf(release.version);
      if (wasOn && isTold && isNewer && isElsewhere && isLower && !release.isRolledBack) {
        if (did.installedOn === next.channel) did.revertedAt ??= at;
      }
    }
  }

  /** Numbers of devices by release, kind, known, pushed and hour, as text; none is 0. */
  cells(): Record<string, number> {
    const cells: Record<string, number> = {};
    for (const { did } of this.devices.values()) {
      for (const [id, one] of did) {
        const add = (kind: string, at: number | undefined) => {
          if (at === undefined) return;
          const hour = iso(Math.floor(at / HOUR_MS) * HOUR_MS);
          const key = [id, kind, one.known, one.pushed, hour].join(' ');
          cells[key] = (cells[key] ?? 0) + 1;
        };
        add('offered', one.offeredAt);
        add('installed', one.installedAt);
        add('reverted', one.revertedAt);
        add('reached', 0);
      }
    }
    return cells;
  }

  /** Numbers of devices that a release reached, known for so many minutes; times in milliseconds. */
  lookedAt(id: string, now: number, stuckAfterMs: number, silentAfterMs: number, known = -1) {
    const counts = { stuck: 0, stuckBase: 0, silent: 0, silentBase: 0 };
    for (const { lastSeen, did } of this.devices.values()) {
      const one = did.get(id);
      if (one === undefined || one.known < known) continue;
      const { offeredAt = Number.POSITIVE_INFINITY, installedAt } = one;
      if (offeredAt <= now - stuckAfterMs) counts.stuckBase += 1;
      if (installedAt === undefined && lastSeen - offeredAt > stuckAfterMs) counts.stuck += 1;
      if (Math.min(offeredAt, installedAt ?? offeredAt) > now - silentAfterMs) continue;
      counts.silentBase += 1;
      if (lastSeen <= now - silentAfterMs) counts.silent += 1;
    }
    return counts;
  }

  /** The release that a device of the channel runs: the channel's own before that of the one it follows. */
  private releaseOf(channel: string, version: string): ModelRelease | undefined {
    const on = (name: string | undefined) =>
      this.releases.find((each) => each.channel === name && each.version === version);
    return on(channel) ?? on(this.follows[channel]);
  }
}

function scope(device: ModelDevice, { publishedAt }: ModelRelease): Did {
  const known = edgeUpTo(publishedAt - device.firstSeen);
  return { known, pushed: edgeUpTo(publishedAt - device.firstReported) };
}

function edgeUpTo(ms: number): number {
  return EDGES.findLast((edge) => edge * MINUTE_MS <= ms) ?? -1;
}

function orderOf(version: string): number {
  const place = (VERSIONS as readonly string[]).indexOf(version);
  return place < 0 ? Number.POSITIVE_INFINITY : place;
}
