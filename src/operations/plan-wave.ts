// Planning a wave: one decision per device, by the same code and with the same barrier as the update check.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { foldArch, foldPlatform } from '../domain/artifact.ts';
import { type CheckIn, coalesceCheckIns } from '../domain/check-in.ts';
import { hashText } from '../domain/cohort.ts';
import type { UpdatePlan } from '../domain/plan.ts';
import type { Labels } from '../domain/targeting.ts';
import { parseVersion } from '../domain/version.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Caller } from './authenticate-key.ts';
import type { CatalogSlot, Settled } from './catalog-slot.ts';
import type { Catalogs } from './catalogs.ts';
import { checkSubject } from './check-subject.ts';
import type { CheckUpdate } from './check-update.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { LiveFeed } from './live-feed.ts';
import { manifestOf, type UpdateSubject, updateOrigin } from './update-subject.ts';

export type WaveDevice = {
  readonly deviceId: string;
  readonly version: string;
  readonly platform: string;
  readonly arch?: string | undefined;
};

export type WaveRequest = {
  readonly app: string;
  readonly channel: string;
  readonly dryRun: boolean;
  readonly devices: readonly WaveDevice[];
};

export type WaveDecision = {
  readonly deviceId: string;
  /** The manifest's JSON as bytes; undefined when the device gets nothing. */
  readonly update: Buffer | undefined;
};

export type Wave = {
  readonly app: string;
  readonly channel: string;
  readonly decisions: readonly WaveDecision[];
};

export type PlanWaveDependencies = {
  readonly ledger: Ledger;
  readonly catalogs: Catalogs;
  readonly check: CheckUpdate;
  readonly labels: DeviceLabels;
  readonly live: LiveFeed;
};

type Named = { readonly id: string; readonly ref: string };

export class PlanWave {
  private readonly dependencies: PlanWaveDependencies;

  constructor(dependencies: PlanWaveDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * 404 unknown app or channel, 503 when a decision cannot be known. Unless it is a dry run, the offers and
   * the devices are durable when this resolves; a dry run writes nothing.
   */
  async plan(caller: Caller, request: WaveRequest, nowMs: number): Promise<Outcome<Wave>> {
    const app = await this.dependencies.ledger.findApp(caller.organizationId, request.app);
    if (isFailure(app)) return app;
    const slot = await this.dependencies.catalogs.find(app.ref, request.channel);
    if (isFailure(slot)) return slot.failure === 'unknownApp' ? fail('unknownApp') : slot;
    const subjects = subjectsOf(app.ref, request);
    const answers = await this.decideUndisturbed(app, slot, request, subjects);
    if (!request.dryRun) await this.record(app, request, subjects, answers, nowMs);
    const decisions = request.devices.map(({ deviceId }, index) => ({
      deviceId,
      update: manifestOf(answers[index] as Settled<UpdatePlan>),
    }));
    return { app: app.ref, channel: request.channel, decisions };
  }

  /** Begins again when the channel changes meanwhile to ask for labels that were not looked up. */
  private async decideUndisturbed(
    app: Named,
    slot: CatalogSlot,
    request: WaveRequest,
    subjects: readonly UpdateSubject[],
  ): Promise<readonly Settled<UpdatePlan>[]> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const answers = await this.decideAll(app, slot, request, subjects);
      if (answers !== undefined) return answers;
    }
    throw new Unavailable('ledger', 'the channel changes faster than a wave can be planned');
  }

  private async decideAll(
    app: Named,
    slot: CatalogSlot,
    request: WaveRequest,
    subjects: readonly UpdateSubject[],
  ): Promise<readonly Settled<UpdatePlan>[] | undefined> {
    const labelKeys = collectLabelKeys(slot, subjects);
    const labels = labelKeys.length === 0 ? [] : await this.readLabels(app, request);
    const answers: Settled<UpdatePlan>[] = [];
    // In order: a device that is named twice gets its decisions in the order of its items.
    for (const [index, { deviceId }] of request.devices.entries()) {
      const device = { hash: hashText(deviceId), labels: labels[index] ?? NO_LABELS };
      const subject = subjects[index] as UpdateSubject;
      const answer = await this.decideOne(slot, subject, labelKeys, device, request.dryRun);
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return answers;
  }

  private async decideOne(
    slot: CatalogSlot,
    subject: UpdateSubject,
    labelKeys: readonly string[],
    device: { readonly hash: number; readonly labels: Labels },
    isDryRun: boolean,
  ): Promise<Settled<UpdatePlan> | undefined> {
    if (isDryRun) return slot.planFor(subject)?.settle(device);
    return this.dependencies.check.settle(subject, slot, labelKeys, device);
  }

  private readLabels(app: Named, request: WaveRequest): Promise<readonly Labels[]> {
    return this.dependencies.labels.readAll(
      request.devices.map(({ deviceId }) => ({ appId: app.id, deviceId })),
    );
  }

  private async record(
    app: Named,
    request: WaveRequest,
    subjects: readonly UpdateSubject[],
    answers: readonly Settled<UpdatePlan>[],
    at: number,
  ): Promise<void> {
    const checkIns = request.devices.map(({ deviceId }, index): CheckIn => {
      const { origin, version } = subjects[index] as UpdateSubject;
      return {
        appId: app.id,
        deviceId,
        channel: request.channel,
        version: version?.canonical,
        platform: origin.platform,
        arch: origin.arch,
        source: 'push',
        at,
        labels: undefined,
        offeredReleaseId: answers[index]?.candidate?.release.source.id,
      };
    });
    const distinct = coalesceCheckIns(checkIns);
    await this.dependencies.ledger.recordCheckIns(distinct);
    for (const checkIn of distinct) this.dependencies.live.note(checkIn);
  }
}

const NO_LABELS: Labels = new Map();
const ATTEMPTS_MAX = 5;

/** The labels that any release in question asks for: mostly none, and then nothing is looked up. */
function collectLabelKeys(
  slot: CatalogSlot,
  subjects: readonly UpdateSubject[],
): readonly string[] {
  const keys = new Set<string>();
  for (const subject of new Set(subjects)) {
    for (const key of slot.planFor(subject)?.plan.labelKeys ?? []) keys.add(key);
  }
  return [...keys];
}

/** One subject per device; devices that share version, platform and arch share it, and so its plan. */
function subjectsOf(appRef: string, request: WaveRequest): readonly UpdateSubject[] {
  const known = new Map<string, UpdateSubject>();
  return request.devices.map(({ version, platform, arch }) => {
    const key = JSON.stringify([version, platform, arch]);
    const subject =
      known.get(key) ?? createSubject(appRef, request.channel, version, platform, arch);
    known.set(key, subject);
    return subject;
  });
}

function createSubject(
  app: string,
  channel: string,
  versionText: string,
  platform: string,
  arch: string | undefined,
): UpdateSubject {
  const version = parseVersion(versionText);
  if (version === undefined) throw new Error('a wave was planned with a version nobody checked');
  const origin = updateOrigin(app, channel, foldPlatform(platform), foldArch(arch));
  return checkSubject(origin, version);
}
