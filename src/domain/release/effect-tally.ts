// Counts of what a change does to a fleet, from what it does to single devices: to all of them, or to a
// sample that stands for more.

import type { Effect, EffectMove, PlatformEffect, RunnerEffect } from '../../contract/dry-run.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Reason } from '../../contract/reason.ts';

/** What a change does to one device. */
export type DeviceEffect = {
  readonly deviceId: string;
  /** Folded. */
  readonly platform: string;
  /** Folded; null when the device tells none. */
  readonly arch: string | null;
  /** Version that it is offered before the change; null for none. */
  readonly from: string | null;
  /** Version that it is offered after the change; null for none. */
  readonly to: string | null;
  /** Why it is offered that, or nothing. */
  readonly reason: Reason;
  /** Whether the changed release has an artifact for it. */
  readonly hasArtifact: boolean;
  /** Whether it runs the changed release. */
  readonly runsIt: boolean;
};

type Counts<Row> = { -readonly [Field in keyof Row]: Row[Field] };

export class EffectTally {
  private devices = 0;
  private gain = 0;
  private lose = 0;
  private readonly gaining: string[] = [];
  private readonly losing: string[] = [];
  private readonly moves = new Map<string, Counts<EffectMove>>();
  private readonly platforms = new Map<string, Counts<PlatformEffect>>();
  private readonly runners = new Map<string, Counts<RunnerEffect>>();

  /** Counts a device. */
  add(device: DeviceEffect): void {
    const { from, to } = device;
    const part = this.partOf(device);
    this.devices += 1;
    part.devices += 1;
    if (!device.hasArtifact) part.withoutArtifact += 1;
    if (device.runsIt) this.runnersOf(device).devices += 1;
    if (from === to) return;
    this.moveOf(from, to).devices += 1;
    if (from === null) {
      this.gain += 1;
      part.gain += 1;
      note(this.gaining, device.deviceId);
    }
    if (to === null) {
      this.lose += 1;
      part.lose += 1;
      note(this.losing, device.deviceId);
    }
  }

  /**
   * Returns the effect on `total` devices, of which those counted are a sample, or all. Only the largest rows
   * are listed: devices choose their platform and arch, so that there may be as many as devices.
   */
  effectOn(total: number, isEstimate: boolean): Effect {
    const factor = this.devices === 0 ? 0 : total / this.devices;
    const scaled = (count: number) => Math.round(count * factor);
    return {
      devices: total,
      isEstimate,
      gain: scaled(this.gain),
      lose: scaled(this.lose),
      moves: largest(this.moves).map(({ from, to, devices }) => ({
        from,
        to,
        devices: scaled(devices),
      })),
      platforms: largest(this.platforms).map((part) => ({
        platform: part.platform,
        arch: part.arch,
        devices: scaled(part.devices),
        gain: scaled(part.gain),
        lose: scaled(part.lose),
        withoutArtifact: scaled(part.withoutArtifact),
      })),
      examples: { gain: [...this.gaining], lose: [...this.losing] },
    };
  }

  /** Returns what becomes of the devices that run the changed release, scaled as the effect is. */
  runnersOn(total: number): readonly RunnerEffect[] {
    const factor = this.devices === 0 ? 0 : total / this.devices;
    return largest(this.runners).map((part) => ({
      ...part,
      devices: Math.round(part.devices * factor),
    }));
  }

  private runnersOf({ platform, arch, to, reason }: DeviceEffect): Counts<RunnerEffect> {
    const key = JSON.stringify([platform, arch, to, reason]);
    const known = this.runners.get(key) ?? { platform, arch, to, reason, devices: 0 };
    this.runners.set(key, known);
    return known;
  }

  private moveOf(from: string | null, to: string | null): Counts<EffectMove> {
    // No version has a space.
    const key = `${from ?? ''} ${to ?? ''}`;
    const known = this.moves.get(key) ?? { from, to, devices: 0 };
    this.moves.set(key, known);
    return known;
  }

  private partOf({ platform, arch }: DeviceEffect): Counts<PlatformEffect> {
    // They may contain any character: the length keeps the keys of two pairs apart.
    const key = `${platform.length} ${platform}${arch ?? ''}`;
    const known = this.platforms.get(key) ?? {
      platform,
      arch,
      devices: 0,
      gain: 0,
      lose: 0,
      withoutArtifact: 0,
    };
    this.platforms.set(key, known);
    return known;
  }
}

function note(examples: string[], deviceId: string): void {
  if (examples.length < LIMIT.effectExamplesMax) examples.push(deviceId);
}

/** Returns the rows with the most devices; of equal ones, those first that were counted first. */
function largest<Row extends { readonly devices: number }>(
  rows: ReadonlyMap<string, Row>,
): readonly Row[] {
  return [...rows.values()]
    .sort((left, right) => right.devices - left.devices)
    .slice(0, LIMIT.effectRowsMax);
}
