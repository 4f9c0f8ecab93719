// Counts the effect of a change on a fleet, from its effect on single devices: all of them or a sample.

import type { Effect, EffectMove, PlatformEffect, RunnerEffect } from '../../contract/dry-run.ts';
import type { Reason } from '../../contract/explanation.ts';
import { LIMIT } from '../../contract/limit.ts';

/** Effect of a change on one device. */
export type DeviceEffect = {
  readonly deviceId: string;
  readonly platform: string;
  /** Null if the device reports none. */
  readonly arch: string | null;
  /** Version offered before the change; null for none. */
  readonly from: string | null;
  /** Version offered after the change; null for none. */
  readonly to: string | null;
  /** Reason of the decision after the change. */
  readonly reason: Reason;
  /** Whether the changed release has an artifact for the device. */
  readonly hasArtifact: boolean;
  /** Whether the device runs the changed release. */
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
   * Returns the effect on `total` devices, of which those counted are a sample, or all. Lists only the
   * largest rows, because devices choose their platform and arch, so there may be a row per device.
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

  /** Returns what the devices that run the changed release are offered, scaled like the effect. */
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
    // Versions contain no space.
    const key = `${from ?? ''} ${to ?? ''}`;
    const known = this.moves.get(key) ?? { from, to, devices: 0 };
    this.moves.set(key, known);
    return known;
  }

  private partOf({ platform, arch }: DeviceEffect): Counts<PlatformEffect> {
    // Platform and arch may contain any character: the length separates them.
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

/** Returns the rows with the most devices; equal rows keep the order in which they were first counted. */
function largest<Row extends { readonly devices: number }>(
  rows: ReadonlyMap<string, Row>,
): readonly Row[] {
  return [...rows.values()]
    .sort((left, right) => right.devices - left.devices)
    .slice(0, LIMIT.effectRowsMax);
}
