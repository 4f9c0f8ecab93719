// Plans an update wave: one decision per device, by the code and the first-offer barrier of update checks.

import type { Caller } from '../access/api-keys.ts';
import { type Failure, isFailure, type Outcome, refuseRight } from '../contract/failure.ts';
import { Unavailable } from '../contract/store-fault.ts';
import { foldPlatform } from '../domain/decision/artifact/artifact.ts';
import { ANY_KIND } from '../domain/decision/artifact/artifact-format.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import type { ArtifactCandidate } from '../domain/decision/catalog.ts';
import { hashText } from '../domain/decision/cohort.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { parseVersion } from '../domain/decision/version.ts';
import { type CheckIn, coalesceCheckIns } from '../domain/fleet/check-in.ts';
import { mistakenIdIn } from '../domain/fleet/mistaken-id.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { ActivityBroadcast } from '../fleet/live-activity.ts';
import { type MistakenIds, noteMistakes } from '../fleet/mistaken-ids.ts';
import type { Ledger } from '../store/ledger.ts';
import { manifestOf, manifestQuestion } from '../updater/manifest.ts';
import {
  type CatalogSlot,
  type CheckQuery,
  checkQuery,
  checkScope,
  type PlanDecision,
} from './catalog-slot.ts';
import type { Catalogs } from './catalogs.ts';
import type { CheckUpdate } from './check-update.ts';

type WaveDevice = {
  readonly deviceId: string;
  readonly version: string;
  readonly platform: string;
  readonly arch?: string | undefined;
  /** Kind that the device was installed from (`readKind`). */
  readonly bundle?: string | undefined;
};

export type WaveRequest = {
  readonly app: string;
  readonly channel: string;
  readonly dryRun: boolean;
  readonly devices: readonly WaveDevice[];
};

export type WaveDecision = {
  readonly deviceId: string;
  /** Manifest as JSON bytes; undefined if the device is offered nothing. */
  readonly update: Buffer | undefined;
};

export type Wave = {
  readonly app: string;
  readonly channel: string;
  readonly decisions: readonly WaveDecision[];
};

export type PlanWaveDependencies = {
  readonly ledger: Pick<Ledger, 'findApp' | 'findLostRight' | 'recordReport'>;
  readonly catalogs: Catalogs;
  readonly check: CheckUpdate;
  readonly labels: DeviceLabels;
  readonly live: ActivityBroadcast;
  readonly mistakenIds: Pick<MistakenIds, 'note'>;
};

type Decided<Answer> = Outcome<Answer>;

type Named = { readonly id: string; readonly ref: string };

export class WavePlanner {
  constructor(private readonly dependencies: PlanWaveDependencies) {}

  /**
   * Decides for every device of the request. The offers and devices are durable when this resolves; a dry run
   * writes nothing. Refuses the whole wave if a device can be offered nothing but a release whose first offer
   * could not be recorded; first offers recorded before stay.
   */
  async plan(caller: Caller, request: WaveRequest, nowMs: number): Promise<Outcome<Wave>> {
    const { ledger } = this.dependencies;
    // Checked again, because the body arrived after the key was checked. The write checks it too, but a dry
    // run writes nothing, and a real wave offers before it writes.
    const lost = await ledger.findLostRight(caller.actor);
    if (lost !== undefined) return lost;
    const app = await ledger.findApp(caller.scope, request.app);
    if (isFailure(app)) return app;
    const slot = await this.dependencies.catalogs.findForCaller(app.ref, request.channel);
    if (isFailure(slot)) return slot;
    const refusal = refuseRight(caller.actor.lacks);
    if (refusal !== undefined) return refusal;
    const queries = queriesOf(app.ref, request);
    const answers = await this.decideUndisturbed(app, slot, request, queries);
    if (isFailure(answers)) return answers;
    if (!request.dryRun) {
      const checkIns = checkInsOf(app, request, queries, answers, nowMs);
      const refusal = await this.record(coalesceCheckIns(checkIns), caller);
      if (refusal !== undefined) return refusal;
      noteMistakes(this.dependencies.mistakenIds, app, request.devices);
    }
    const decisions = request.devices.map(({ deviceId }, index) => {
      const { plan, candidate } = answers[index] as PlanDecision<ArtifactCandidate>;
      return { deviceId, update: candidate && manifestOf(plan, candidate) };
    });
    return { app: app.ref, channel: request.channel, decisions };
  }

  /** Starts again if the channel changes meanwhile and needs labels that were not read. */
  private async decideUndisturbed(
    app: Named,
    slot: CatalogSlot,
    request: WaveRequest,
    queries: readonly CheckQuery<ArtifactCandidate>[],
  ): Promise<Decided<readonly PlanDecision<ArtifactCandidate>[]>> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const answers = await this.decideAll(app, slot, request, queries);
      if (answers !== undefined) return answers;
    }
    throw new Unavailable('ledger', 'the channel changes faster than a wave can be planned');
  }

  private async decideAll(
    app: Named,
    slot: CatalogSlot,
    request: WaveRequest,
    queries: readonly CheckQuery<ArtifactCandidate>[],
  ): Promise<Decided<readonly PlanDecision<ArtifactCandidate>[]> | undefined> {
    const labelKeys = collectLabelKeys(slot, queries);
    const labels = labelKeys.length === 0 ? [] : await this.readLabels(app, request);
    const answers: PlanDecision<ArtifactCandidate>[] = [];
    // Devices are decided in order, so that one named twice gets its decisions in that order.
    for (const [index, { deviceId }] of request.devices.entries()) {
      const hash = mistakenIdIn(deviceId) === undefined ? hashText(deviceId) : undefined;
      const device = { hash, labels: labels[index] ?? NO_LABELS };
      const query = queries[index] as CheckQuery<ArtifactCandidate>;
      const answer = await this.decideOne(slot, query, labelKeys, device, request.dryRun);
      if (answer === undefined || isFailure(answer)) return answer;
      answers.push(answer);
    }
    return answers;
  }

  private async decideOne(
    slot: CatalogSlot,
    query: CheckQuery<ArtifactCandidate>,
    labelKeys: readonly string[],
    device: { readonly hash: number | undefined; readonly labels: Labels },
    isDryRun: boolean,
  ): Promise<Decided<PlanDecision<ArtifactCandidate>> | undefined> {
    if (isDryRun) return slot.planFor(query)?.decide(device);
    return this.dependencies.check.decide(query, slot, labelKeys, device);
  }

  /** Reads the labels of the devices in their order; one with a mistaken id has none. */
  private async readLabels(app: Named, request: WaveRequest): Promise<readonly Labels[]> {
    const labels = await this.dependencies.labels.readAll(
      request.devices.map(({ deviceId }) => ({ appId: app.id, deviceId })),
    );
    return labels.map((each, index) => {
      const deviceId = request.devices[index]?.deviceId ?? '';
      return mistakenIdIn(deviceId) === undefined ? each : NO_LABELS;
    });
  }

  private async record(checkIns: readonly CheckIn[], caller: Caller): Promise<Failure | undefined> {
    const { ledger, live } = this.dependencies;
    const recorded = await ledger.recordReport(checkIns, caller.actor);
    if (isFailure(recorded)) return recorded;
    for (const checkIn of checkIns) live.note(checkIn);
    return undefined;
  }
}

function checkInsOf(
  app: Named,
  request: WaveRequest,
  queries: readonly CheckQuery<ArtifactCandidate>[],
  answers: readonly PlanDecision<ArtifactCandidate>[],
  at: number,
): readonly CheckIn[] {
  return request.devices.flatMap(({ deviceId, bundle }, index) => {
    if (mistakenIdIn(deviceId) !== undefined) return [];
    const { scope, version } = queries[index] as CheckQuery<ArtifactCandidate>;
    return {
      appId: app.id,
      deviceId,
      channel: request.channel,
      version: version?.canonical,
      platform: scope.platform,
      arch: scope.arch,
      source: 'push',
      client: 'push',
      bundle: bundle || undefined,
      at,
      labels: undefined,
      offeredReleaseId: answers[index]?.candidate?.release.source.id,
    };
  });
}

const NO_LABELS: Labels = new Map();
const ATTEMPTS_MAX = 5;

/** Returns the label keys that any candidate release targets; usually none, so no labels are read. */
function collectLabelKeys(
  slot: CatalogSlot,
  queries: readonly CheckQuery<ArtifactCandidate>[],
): readonly string[] {
  const keys = new Set<string>();
  for (const query of new Set(queries)) {
    for (const key of slot.planFor(query)?.plan.labelKeys ?? []) keys.add(key);
  }
  return [...keys];
}

/** Returns the query of each device. Devices with the same version, platform, arch and kind share one. */
function queriesOf(appRef: string, request: WaveRequest): readonly CheckQuery<ArtifactCandidate>[] {
  const known = new Map<string, CheckQuery<ArtifactCandidate>>();
  return request.devices.map((device) => {
    const { version, platform, arch, bundle } = device;
    const key = JSON.stringify([version, platform, arch, bundle]);
    const query = known.get(key) ?? createQuery(appRef, request.channel, device);
    known.set(key, query);
    return query;
  });
}

function createQuery(
  app: string,
  channel: string,
  { version: versionText, platform, arch, bundle = ANY_KIND }: WaveDevice,
): CheckQuery<ArtifactCandidate> {
  const version = parseVersion(versionText);
  if (version === undefined) throw new Error('a wave has an unchecked version');
  const folded = foldPlatform(platform);
  const question = manifestQuestion(folded, foldArch(arch, folded), {
    kind: bundle,
    mustBeSigned: false,
  });
  return checkQuery(checkScope(app, channel, question), version);
}
