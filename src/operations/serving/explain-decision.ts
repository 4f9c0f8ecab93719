// Explanation of the decision that a device would get now, if it asked as it did last. Nothing is offered,
// recorded or counted. A release whose first offer this node could not record a moment ago counts as one that
// cannot be offered.

import type { ExplainedCandidate, ExplainedDecision } from '../../contract/console.ts';
import type { DeviceClient } from '../../contract/device-client.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldArch, foldPlatform } from '../../domain/decision/artifact.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import { decide } from '../../domain/decision/decide.ts';
import { explain } from '../../domain/decision/explain.ts';
import { planUpdate } from '../../domain/decision/plan.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { installableBy } from '../../updater/installable-by.ts';
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
    const [known] = await labels.readAll([{ appId: app.id, deviceId }]);
    const client = device.client ?? (version === undefined ? 'e' : 'u');
    const fields = {
      version: TELLS_NO_VERSION.has(client) ? undefined : version,
      platform: foldPlatform(device.platform),
      arch: foldArch(device.arch ?? undefined),
    };
    const asked = {
      client,
      bundle: device.bundle,
      machine: { platform: fields.platform, arch: fields.arch },
    } as const;
    const plan = planUpdate(catalog, fields, installableBy(catalog, asked));
    const who = { hash: hashText(deviceId), labels: known ?? new Map<string, string>() };
    const barred = firstOffers.barredIn(catalog);
    const { candidate } = decide(plan, who, barred);
    const { reason, candidates } = explain(plan, who, barred);
    // What is kept with the candidate may be a document of another protocol.
    const bytes = candidate && manifestOf(plan, { ...candidate, documents: [] });
    const status = catalog.byCanonical.get(version?.canonical ?? '')?.source.status ?? null;
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

/** Clients that are offered the highest release that fits, and compare it with their own version. */
const TELLS_NO_VERSION: ReadonlySet<DeviceClient> = new Set(['e', 'sparkle']);

function shorten(candidates: readonly ExplainedCandidate[]): readonly ExplainedCandidate[] {
  if (candidates.length <= LIMIT.candidatesShownMax) return candidates;
  return [...candidates.slice(0, LIMIT.candidatesShownMax - 1), ...candidates.slice(-1)];
}
