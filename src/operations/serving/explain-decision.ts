// Explanation of the decision that a device would get now. Nothing is offered, recorded or counted. A release
// whose first offer this node could not record a moment ago counts as one that cannot be offered.

import type { ExplainedCandidate, ExplainedDecision } from '../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldArch, foldPlatform } from '../../domain/decision/artifact.ts';
import { candidatesFor } from '../../domain/decision/catalog.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import { decide } from '../../domain/decision/decide.ts';
import { explain } from '../../domain/decision/explain.ts';
import { planUpdate } from '../../domain/decision/plan.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { manifestOf } from '../../updater/manifest.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { Catalogs } from './catalogs.ts';
import type { FirstOffers } from './first-offer.ts';
import type { NoCatalog } from './known-channels.ts';

export type ExplainDependencies = {
  readonly ledger: Ledger;
  readonly catalogs: Catalogs;
  readonly labels: DeviceLabels;
  readonly firstOffers: Pick<FirstOffers, 'barredIn'>;
};

export class ExplainDecision {
  private readonly dependencies: ExplainDependencies;

  constructor(dependencies: ExplainDependencies) {
    this.dependencies = dependencies;
  }

  /** Explains the decision for a device, on its own channel unless told otherwise. */
  async explain(
    app: { readonly id: string; readonly ref: string },
    deviceId: string,
    channel: string | undefined,
  ): Promise<Outcome<ExplainedDecision, NoCatalog | 'unknownDevice'>> {
    const { ledger, catalogs, labels, firstOffers } = this.dependencies;
    const found = await ledger.readDevice(app.id, deviceId);
    if (isFailure(found)) return found;
    const { history: _, ...device } = found;
    const slot = await catalogs.findForCaller(app.ref, channel ?? device.channel);
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
    const plan = planUpdate(catalog, fields, candidatesFor(catalog, fields.platform, fields.arch));
    const who = { hash: hashText(deviceId), labels: known ?? new Map<string, string>() };
    const barred = firstOffers.barredIn(catalog);
    const { candidate } = decide(plan, who, barred);
    const { reason, candidates } = explain(plan, who, barred);
    const bytes = candidate && manifestOf(plan, candidate);
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

/**
 * Reason for a device whose updater does not report a version (electron-updater): it compares versions
 * itself.
 */
const UNKNOWN_VERSION = {
  offer: null,
  reason: 'unknown-version',
  candidates: [],
  considered: 0,
  current: { version: null, status: null },
} as const;

function shorten(candidates: readonly ExplainedCandidate[]): readonly ExplainedCandidate[] {
  if (candidates.length <= LIMIT.candidatesShownMax) return candidates;
  return [...candidates.slice(0, LIMIT.candidatesShownMax - 1), ...candidates.slice(-1)];
}
