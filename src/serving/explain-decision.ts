// Explains the decision that a device would get now, with its recorded question or as a caller describes it.
// Nothing is offered, recorded or counted.

import type {
  BriefDecision,
  ExplainedCandidate,
  ExplainedDecision,
} from '../contract/console-fleet.ts';
import type {
  ExplainedReason,
  Explanation,
  ListedCandidate,
  ShownReason,
} from '../contract/explanation.ts';
import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { DeviceClient, UpdateManifest } from '../contract/resource.ts';
import type { Catalog } from '../domain/decision/catalog.ts';
import { hashText } from '../domain/decision/cohort.ts';
import { decide, NOTHING_EXCLUDED } from '../domain/decision/decide.ts';
import { explain, type JudgedCandidate } from '../domain/decision/explain.ts';
import { planUpdate } from '../domain/decision/plan.ts';
import { type Labels, type RequestFields, unmetExpressions } from '../domain/decision/targeting.ts';
import { parseVersion } from '../domain/decision/version.ts';
import { mergeLabels } from '../domain/fleet/labels.ts';
import { mistakenIdIn } from '../domain/fleet/mistaken-id.ts';
import { parseActions } from '../domain/fleet/packed-actions.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { Ledger } from '../store/ledger.ts';
import { installableBy } from '../updater/installable-by.ts';
import { manifestOf } from '../updater/manifest.ts';
import type { Catalogs } from './catalogs.ts';
import type { FirstOffers } from './first-offers.ts';
import { explainPoll } from './poll-explanation.ts';
import { recordedQuestion } from './recorded-question.ts';

type ExplainDependencies = {
  readonly ledger: Ledger;
  readonly catalogs: Catalogs;
  readonly labels: DeviceLabels;
  readonly firstOffers: Pick<FirstOffers, 'excludedIn'>;
};

/** Device as the caller describes it; overrides the record. */
export type ToldDevice = {
  readonly deviceId?: string | undefined;
  readonly channel?: string | undefined;
  readonly platform?: string | undefined;
  readonly arch?: string | undefined;
  /** Canonical version. */
  readonly version?: string | undefined;
  /** Kind of installation. */
  readonly bundle?: string | undefined;
  readonly labels: Labels;
};

type App = { readonly id: string; readonly ref: string };

/** Device to decide for. */
type AskingDevice = {
  readonly deviceId: string | undefined;
  readonly platform: string;
  readonly arch: string | null;
  readonly version: string | null;
  readonly client: DeviceClient | null;
  readonly bundle: string | null;
  readonly labels: Labels;
};

export class ExplainDecision {
  constructor(private readonly dependencies: ExplainDependencies) {}

  /**
   * Explains the decision for a recorded device to a person, by default on the device's channel. A release
   * whose first offer this node just failed to record counts as excluded.
   */
  async explain(
    app: App,
    deviceId: string,
    channel: string | undefined,
  ): Promise<Outcome<ExplainedDecision>> {
    const { firstOffers } = this.dependencies;
    const found = await this.dependencies.ledger.readDevice(app.id, deviceId);
    if (isFailure(found)) return found;
    const { history: _, ...device } = found;
    const catalog = await this.catalogOf(app, channel ?? device.channel);
    if (isFailure(catalog)) return catalog;
    const labels = await this.labelsOf(app, deviceId);
    const asking = { ...device, labels };
    const excluded = firstOffers.excludedIn(catalog);
    const { reason, candidates, offer, fields } = await this.answer(app, catalog, asking, excluded);
    const status = catalog.byCanonical.get(fields.version?.canonical ?? '')?.source.status ?? null;
    return {
      device: { ...device, labels: Object.fromEntries(labels) },
      offer,
      reason,
      candidates: shorten(candidates.map(withoutSource), LIMIT.candidatesShownMax),
      considered: candidates.length,
      current: { version: device.version, status },
    };
  }

  /** Explains to a person the decisions for many devices, briefly and in their order; each once. */
  async explainAll(
    app: App,
    deviceIds: readonly string[],
  ): Promise<Outcome<{ readonly decisions: readonly BriefDecision[] }>> {
    const decisions: BriefDecision[] = [];
    for (const deviceId of new Set(deviceIds)) {
      const found = await this.explain(app, deviceId, undefined);
      if (isFailure(found) && found.failure !== 'unknownDevice') return found;
      decisions.push(isFailure(found) ? unknownDevice(deviceId) : briefly(deviceId, found));
    }
    return { decisions };
  }

  /**
   * Explains to a program the decision for a recorded device, or for one that the caller describes. `invalid`
   * if neither the record nor the caller gives the channel or the platform.
   */
  async explainTold(app: App, told: ToldDevice): Promise<Outcome<Explanation>> {
    const { deviceId } = told;
    const found =
      deviceId === undefined
        ? undefined
        : await this.dependencies.ledger.readDevice(app.id, deviceId);
    const record = isFailure(found) ? undefined : found;
    if (isFailure(found) && told.platform === undefined) return found;
    const [platform, channel] = [
      told.platform ?? record?.platform,
      told.channel ?? record?.channel,
    ];
    if (channel === undefined) return invalidField('channel', 'Required');
    if (platform === undefined) return invalidField('platform', 'Required without a deviceId');
    const catalog = await this.catalogOf(app, channel);
    if (isFailure(catalog)) return catalog;
    const stored = deviceId === undefined ? NO_LABELS : await this.labelsOf(app, deviceId);
    const version = told.version ?? record?.version ?? null;
    const asking: AskingDevice = {
      deviceId,
      platform,
      arch: told.arch ?? record?.arch ?? null,
      version,
      client: record?.client ?? null,
      bundle: told.bundle ?? record?.bundle ?? null,
      labels: mergeLabels(stored, told.labels),
    };
    return explanationOf(
      catalog,
      channel,
      asking,
      await this.answer(app, catalog, asking, NOTHING_EXCLUDED),
    );
  }

  /** Decides for a device, and explains it: for one that speaks DDI as its next poll would. */
  private async answer(
    app: App,
    catalog: Catalog,
    device: AskingDevice,
    excluded: ReadonlySet<string>,
  ): Promise<Answered> {
    const { ddi: settings } = catalog.snapshot;
    const { deviceId, version, client } = device;
    if (client !== 'ddi' || settings === null || deviceId === undefined) {
      return answer(catalog, device, excluded);
    }
    const [read] = await this.dependencies.ledger.readActions([{ appId: app.id, deviceId }]);
    const actions = read?.actions && parseActions(read.actions.text);
    // A first offer that cannot be recorded makes the poll fail, and no lower release takes its place.
    const decided = answer(catalog, device, NOTHING_EXCLUDED);
    const polled = explainPoll(decided, { settings, version, actions, now: Date.now() });
    return polled === undefined ? decided : { ...decided, ...polled, offer: null };
  }

  private async catalogOf(app: App, channel: string): Promise<Outcome<Catalog>> {
    const slot = await this.dependencies.catalogs.findForCaller(app.ref, channel);
    if (isFailure(slot)) return slot;
    return slot.catalog ?? fail('unavailable');
  }

  /** Returns the labels on record that count for a device: none for one with a mistaken id. */
  private async labelsOf(app: App, deviceId: string): Promise<Labels> {
    if (mistakenIdIn(deviceId) !== undefined) return NO_LABELS;
    const [labels] = await this.dependencies.labels.readAll([{ appId: app.id, deviceId }]);
    return labels ?? NO_LABELS;
  }
}

function unknownDevice(deviceId: string): BriefDecision {
  return { deviceId, device: null, offer: null, reason: null, why: null };
}

function briefly(
  deviceId: string,
  { device, offer, reason, candidates }: ExplainedDecision,
): BriefDecision {
  const { version, channel, platform, arch } = device;
  const missed = candidates.find(({ verdict }) => verdict !== 'offered');
  return {
    ...{ deviceId, device: { version, channel, platform, arch }, reason },
    offer: offer?.version ?? null,
    why: missed === undefined ? null : `${missed.version}: ${missed.detail}`,
  };
}

const NO_LABELS: Labels = new Map();

function explanationOf(
  catalog: Catalog,
  channel: string,
  device: AskingDevice,
  { reason, candidates, offer, fields, client }: Answered,
): Explanation {
  const { labels, deviceId = null, platform, arch, version, bundle } = device;
  const listed = candidates.map((candidate) => listedOf(candidate, catalog, fields, labels));
  return {
    // Nothing is excluded, so no first offer is unavailable.
    decision: { update: offer, reason: reason as ExplainedReason },
    device: {
      ...{ deviceId, channel, platform, arch, version, client, bundle },
      labels: Object.fromEntries(labels),
    },
    candidates: shorten(listed, LIMIT.candidatesListedMax),
  };
}

type Answered = {
  readonly reason: ShownReason;
  readonly candidates: readonly JudgedCandidate[];
  readonly offer: UpdateManifest | null;
  readonly client: DeviceClient;
  readonly fields: RequestFields;
};

/** Decides for a device by its channel alone, and explains it. */
function answer(catalog: Catalog, device: AskingDevice, excluded: ReadonlySet<string>): Answered {
  const { labels, deviceId } = device;
  const { fields, asked } = recordedQuestion(device);
  const version = device.version === null ? undefined : parseVersion(device.version);
  const plan = planUpdate(catalog, fields, installableBy(catalog, asked));
  const hasId = deviceId !== undefined && mistakenIdIn(deviceId) === undefined;
  const who = { hash: hasId ? hashText(deviceId) : undefined, labels };
  const { candidate } = decide(plan, who, excluded);
  // The candidate's cached documents may be of another protocol.
  const bytes = candidate && manifestOf(plan, { ...candidate, documents: [] });
  const offer: UpdateManifest | null = bytes === undefined ? null : JSON.parse(bytes.toString());
  const { client } = asked;
  return { ...explain(plan, who, excluded), offer, client, fields: { ...fields, version } };
}

function listedOf(
  { source, verdict, bucket, threshold }: JudgedCandidate,
  { snapshot }: Catalog,
  fields: RequestFields,
  labels: Labels,
): ListedCandidate {
  const { version, status, followed, targets } = source;
  return {
    version,
    channel: followed ? (snapshot.follows ?? snapshot.channel) : snapshot.channel,
    status,
    verdict: WORDS[verdict],
    bucket: bucket ?? null,
    threshold,
    unmet: unmetExpressions(targets, fields, labels),
  };
}

/** Verdicts in the contract's words, for programs. */
const WORDS = {
  offered: 'offered',
  paused: 'not-published',
  deprecated: 'not-published',
  'rolled-back': 'not-published',
  'no-artifact': 'no-artifact',
  'not-targeted': 'not-targeted',
  'outside-cohort': 'outside-cohort',
  barred: 'barred',
  // Nothing is excluded for a program.
  'first-offer-unavailable': 'not-published',
} as const satisfies Record<ExplainedCandidate['verdict'], ListedCandidate['verdict']>;

function withoutSource({ source: _, ...candidate }: JudgedCandidate): ExplainedCandidate {
  return candidate;
}

function shorten<Item>(items: readonly Item[], countMax: number): readonly Item[] {
  return items.length <= countMax ? items : [...items.slice(0, countMax - 1), ...items.slice(-1)];
}
