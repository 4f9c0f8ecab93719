// What a device would get if it asked now, and why, without it asking: nothing is offered, recorded or
// counted.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { ReleaseStatus } from '../contract/resource.ts';
import { foldArch, foldPlatform } from '../domain/artifact.ts';
import { candidateBytes } from '../domain/catalog.ts';
import { hashText } from '../domain/cohort.ts';
import { decide } from '../domain/decide.ts';
import { type ExplainedRelease, type Explanation, explain } from '../domain/explain.ts';
import { planUpdate } from '../domain/plan.ts';
import { parseVersion } from '../domain/version.ts';
import type { DeviceRecord } from '../ports/fleet-ledger.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Catalogs } from './catalogs.ts';
import type { DeviceLabels } from './device-labels.ts';

export type ExplainedDecision = {
  readonly device: DeviceRecord;
  /** The manifest that it would get. */
  readonly offer: unknown;
  readonly reason: Explanation['reason'] | 'unknown-version';
  /** The first of those looked at, and the last: the one that is offered, if any is. */
  readonly candidates: readonly ExplainedRelease[];
  /** How many of them there were. */
  readonly considered: number;
  readonly current: { readonly version: string | null; readonly status: ReleaseStatus | null };
};

export type ExplainDependencies = {
  readonly ledger: Ledger;
  readonly catalogs: Catalogs;
  readonly labels: DeviceLabels;
};

export class ExplainDecision {
  private readonly dependencies: ExplainDependencies;

  constructor(dependencies: ExplainDependencies) {
    this.dependencies = dependencies;
  }

  /** On its own channel unless told otherwise. 404 unknown device or channel. */
  async explain(
    app: { readonly id: string; readonly ref: string },
    deviceId: string,
    channel: string | undefined,
  ): Promise<Outcome<ExplainedDecision>> {
    const { ledger, catalogs, labels } = this.dependencies;
    const found = await ledger.readDevice(app.id, deviceId);
    if (isFailure(found)) return found;
    const { history: _, ...device } = found;
    const slot = await catalogs.find(app.ref, channel ?? device.channel);
    if (isFailure(slot)) return slot;
    const { catalog } = slot;
    if (catalog === undefined) return fail('unavailable');
    const version = device.version === null ? undefined : parseVersion(device.version);
    if (version === undefined) return { device, ...UNKNOWN_VERSION };
    const [known] = await labels.readAll([{ appId: app.id, deviceId }]);
    const fields = {
      version,
      platform: foldPlatform(device.platform),
      arch: foldArch(device.arch ?? undefined),
    };
    const plan = planUpdate(catalog, fields);
    const who = { hash: hashText(deviceId), labels: known ?? new Map<string, string>() };
    const { candidate } = decide(plan, who);
    const { reason, candidates } = explain(plan, who);
    const bytes =
      candidate && candidateBytes(catalog, candidate, plan.isRequired, plan.allowDowngrade);
    const status = catalog.byCanonical.get(version.canonical)?.source.status ?? null;
    return {
      device: { ...device, labels: Object.fromEntries(who.labels) },
      offer: bytes === undefined ? null : JSON.parse(bytes.toString('utf8')),
      reason,
      candidates: shorten(candidates),
      considered: candidates.length,
      current: { version: device.version, status },
    };
  }
}

/** What an updater told that does not say what it runs (electron-updater): it compares by itself. */
const UNKNOWN_VERSION = {
  offer: null,
  reason: 'unknown-version',
  candidates: [],
  considered: 0,
  current: { version: null, status: null },
} as const;

function shorten(candidates: readonly ExplainedRelease[]): readonly ExplainedRelease[] {
  if (candidates.length <= LIMIT.candidatesShownMax) return candidates;
  return [...candidates.slice(0, LIMIT.candidatesShownMax - 1), ...candidates.slice(-1)];
}
