// Effect of a change on the fleet: the decision before and after the change for every device seen lately, as
// its own client would get it. Nothing is offered, recorded or counted. Large fleets are sampled.

import type { MatchingDevices } from '../contract/console.ts';
import type { Effect, RunnerEffect } from '../contract/dry-run.ts';
import type { Reason } from '../contract/explanation.ts';
import { failUntil, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Targeting } from '../contract/resource.ts';
import { NO_ARCH } from '../domain/decision/artifact/fold-arch.ts';
import { type Catalog, compileCatalog } from '../domain/decision/catalog.ts';
import { hashText } from '../domain/decision/cohort.ts';
import { choose } from '../domain/decision/decide.ts';
import { type Plan, planUpdate } from '../domain/decision/plan.ts';
import type { Device } from '../domain/decision/rule/decision-rule.ts';
import { withLabelKeys } from '../domain/decision/rule/requirement.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { compileTargeting } from '../domain/decision/targeting.ts';
import { EffectTally } from '../domain/release/effect-tally.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { TimeSlice } from '../flow/time-slice.ts';
import type { DeviceSample, SampledDevice, SampleScope } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Seen, ServedChange } from '../store/ledger-terms.ts';
import { installableBy } from '../updater/installable-by.ts';
import { compileInSlices } from './cold-loads.ts';
import { type RecordedQuestion, recordedQuestion } from './recorded-question.ts';

/** Change of a channel and of those that follow it. */
type MeasuredChange = Pick<Seen, 'places'> & {
  /** Returns a loaded catalog of a channel at any revision, whose unchanged parts are reused. */
  readonly held: (channel: string) => Catalog | undefined;
  /** Id of the changed release. */
  readonly releaseId: string;
};

/** Effect of a change on the fleet, and on the devices that run the changed release. */
export type MeasuredEffect = { readonly effect: Effect; readonly runners: readonly RunnerEffect[] };

/** Maximum number of waiting measurements. */
const WAITING_MAX = 4;
const RETRY_MS = 1000;
/** Number of devices per reading of the clock, which takes as long as a few of them. */
const CLOCK_EVERY = 32;

/** Values that devices with the same question share. */
type Situation = {
  readonly question: RecordedQuestion;
  readonly before: Plan;
  readonly after: Plan;
  readonly hasArtifact: boolean;
  readonly runsIt: boolean;
};

/** Catalogs before and after a change, and one of the changed release alone. */
type Catalogs = { readonly before: Catalog; readonly after: Catalog; readonly alone: Catalog };

export class EffectMeter {
  private readonly sample: SharedSample;
  private readonly limit = new ConcurrencyLimit(1, WAITING_MAX);
  private pending = 0;

  constructor(ledger: Pick<Ledger, 'sampleDevices'>) {
    this.sample = new SharedSample(ledger);
  }

  /** Measures the effect of a change that is not made. One runs at a time; refuses if too many wait. */
  async measure(change: MeasuredChange): Promise<Outcome<MeasuredEffect>> {
    if (this.pending > WAITING_MAX) return failUntil('unavailable', RETRY_MS);
    this.pending += 1;
    try {
      return await this.limit.pass(() => this.measureNow(change));
    } finally {
      this.pending -= 1;
    }
  }

  private async measureNow({ places, held, releaseId }: MeasuredChange): Promise<MeasuredEffect> {
    const alone = compileCatalog(aloneIn(places[0], releaseId));
    const catalogs = new Map<string, Catalogs>();
    for (const place of places) {
      const { channel } = place.before;
      const before = await compileInSlices(place.before, held(channel));
      const after = await compileInSlices(place.after, before);
      catalogs.set(channel, { before, after, alone });
    }
    const all = [...catalogs.values()].flatMap(({ before, after }) => [before, after]);
    const { appId } = places[0].before;
    const scope = { appId, channels: [...catalogs.keys()], labelKeys: labelKeysIn(...all) };
    return decideAll(catalogs, await this.sample.read(scope));
  }
}

async function decideAll(
  catalogs: ReadonlyMap<string, Catalogs>,
  { devices, total, isWhole }: DeviceSample,
): Promise<MeasuredEffect> {
  const slice = new TimeSlice();
  const tally = new EffectTally();
  const situations = new Map<string, Situation>();
  for (const [index, device] of devices.entries()) {
    if (index % CLOCK_EVERY === 0 && slice.isOver) await slice.pause();
    const served = catalogs.get(device.channel);
    if (served === undefined) throw new Error(`The sample has a device of ${device.channel}`);
    const situation = situationOf(situations, served, device);
    const { question, before, after, hasArtifact, runsIt } = situation;
    const { platform, arch } = question.fields;
    const who = { hash: hashText(device.deviceId), labels: device.labels };
    const offer = offerOf(after, who);
    tally.add({
      deviceId: device.deviceId,
      platform,
      arch: arch === NO_ARCH ? null : arch,
      from: offerOf(before, who).version,
      to: offer.version,
      reason: offer.reason,
      hasArtifact,
      runsIt,
    });
  }
  return { effect: tally.effectOn(total, !isWhole), runners: tally.runnersOn(total) };
}

/** Returns a snapshot of the changed release alone, as a published one, with its artifacts. */
function aloneIn({ before, after }: ServedChange, releaseId: string): ServingSnapshot {
  const releases = [after, before]
    .flatMap((snapshot) => snapshot.releases.filter(({ id }) => id === releaseId))
    // A rolled-back release is read without its artifacts.
    .sort((left, right) => right.artifacts.length - left.artifacts.length)
    .slice(0, 1)
    .map((release) => ({ ...release, status: 'published' as const }));
  return { ...after, releases };
}

/** Returns the label keys that an offer of one of the catalogs can depend on. */
function labelKeysIn(...catalogs: readonly Catalog[]): readonly string[] {
  let keys: Set<string> | undefined;
  for (const { published } of catalogs) {
    for (const { requirements } of published) keys = withLabelKeys(keys, requirements);
  }
  return [...(keys ?? [])].sort();
}

function situationOf(
  situations: Map<string, Situation>,
  { before, after, alone }: Catalogs,
  device: SampledDevice,
): Situation {
  const { channel, version, platform, arch, client, bundle } = device;
  const key = JSON.stringify([channel, version, platform, arch, client, bundle]);
  const known = situations.get(key);
  if (known !== undefined) return known;
  const question = recordedQuestion(device);
  const { fields, asked } = question;
  const situation = {
    question,
    before: planUpdate(before, fields, installableBy(before, asked)),
    after: planUpdate(after, fields, installableBy(after, asked)),
    hasArtifact: installableBy(alone, asked).length > 0,
    runsIt: alone.byCanonical.has(fields.version?.canonical ?? ''),
  };
  situations.set(key, situation);
  return situation;
}

/** Returns the offered version, null for none, and the reason. */
function offerOf(
  plan: Plan,
  device: Device,
): { readonly version: string | null; readonly reason: Reason } {
  const choice = choose(plan, device);
  return typeof choice === 'string'
    ? { version: null, reason: choice }
    : { version: choice.release.source.version, reason: 'offered' };
}

// Sample of devices that consecutive calls share: trying several changes of a channel reads the devices once.

/** Milliseconds for which a sample is used. */
const SHARED_MS = 10_000;

class SharedSample {
  /** The last sample; only one is kept, because one may take some megabytes. */
  private last: { readonly key: string; readonly sample: DeviceSample } | undefined;

  constructor(private readonly ledger: Pick<Ledger, 'sampleDevices'>) {}

  /** Returns a sample of the scope that is at most 10 seconds old. */
  async read(scope: SampleScope): Promise<DeviceSample> {
    const key = JSON.stringify([scope.appId, scope.channels, scope.labelKeys]);
    if (this.last?.key === key) return this.last.sample;
    const kept = { key, sample: await this.ledger.sampleDevices(scope) };
    this.last = kept;
    setTimeout(() => {
      if (this.last === kept) this.last = undefined;
    }, SHARED_MS).unref();
    return kept.sample;
  }
}

// Counts the devices of a channel that a targeting matches, while a person edits it. For a large fleet it is
// an estimate from a sample.

/** Number of devices per reading of the clock, which takes as long as a few of them. */
const COUNT_MATCHING_CLOCK_EVERY = 256;

export class MatchCounter {
  private readonly sample: SharedSample;

  constructor(ledger: Pick<Ledger, 'sampleDevices'>) {
    this.sample = new SharedSample(ledger);
  }

  /** Counts the devices seen in the last 30 days that meet every condition, as at their next check. */
  async count(appId: string, channel: string, targets: Targeting | null): Promise<MatchingDevices> {
    const { fieldTests, labelTests, labelKeys } = compileTargeting(targets);
    const scope = { appId, channels: [channel], labelKeys: [...labelKeys].sort() };
    const { devices, total, isWhole } = await this.sample.read(scope);
    const slice = new TimeSlice();
    const examples: string[] = [];
    let matching = 0;
    for (const [index, device] of devices.entries()) {
      if (index % COUNT_MATCHING_CLOCK_EVERY === 0 && slice.isOver) await slice.pause();
      const { fields } = recordedQuestion(device);
      if (!fieldTests.every((test) => test(fields))) continue;
      if (!labelTests.every((test) => test(device.labels))) continue;
      matching += 1;
      if (examples.length < LIMIT.matchingExamplesMax) examples.push(device.deviceId);
    }
    const share = devices.length === 0 ? 0 : matching / devices.length;
    return {
      devices: total,
      matching: isWhole ? matching : Math.round(share * total),
      isEstimate: !isWhole,
      examples,
    };
  }
}
