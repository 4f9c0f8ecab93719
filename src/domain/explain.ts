// A decision with its reasons, release by release, for people: what `decide` would say, and why every release
// above (or, on the way back, below) the one that runs is or is not the one. Pure, like the decision.

import { NO_ARCH } from './artifact.ts';
import type { CompiledRelease } from './catalog.ts';
import { COHORT_BUCKETS, cohortBucket } from './cohort.ts';
import { type Device, decide, obstacleFor } from './decide.ts';
import type { NoOfferReason, UpdatePlan } from './plan.ts';
import { unmetConditions } from './unmet-conditions.ts';
import { compareVersions, type Version } from './version.ts';

export type Verdict =
  | 'offered'
  | 'no-artifact'
  | 'not-targeted'
  | 'outside-cohort'
  | 'first-offer-unavailable'
  | 'paused'
  | 'deprecated'
  | 'rolled-back';

export type ExplainedRelease = {
  readonly version: string;
  readonly verdict: Verdict;
  /** A sentence for people. */
  readonly detail: string;
  /** Where the device lies in the roll-out, 0 to 9,999; absent without an identity. */
  readonly bucket?: number;
  /** Devices below this are in. */
  readonly threshold?: number;
};

export type Explanation = {
  readonly reason: 'offered' | NoOfferReason;
  /** In the order they were looked at, up to the one that is offered. */
  readonly candidates: readonly ExplainedRelease[];
};

const NOTHING_BARRED: ReadonlySet<string> = new Set();

/** The same decision as `decide` makes of this plan, with every release it passed over. */
export function explain(
  plan: UpdatePlan & { readonly fields: { readonly version: Version | undefined } },
  device: Device,
  barred: ReadonlySet<string> = NOTHING_BARRED,
): Explanation {
  const inQuestion = new Set(plan.list.slice(plan.from, plan.to).map(({ release }) => release));
  const candidates: ExplainedRelease[] = [];
  for (const release of releasesOnTheWay(plan)) {
    const verdict = verdictOn(release, inQuestion, plan, device, barred);
    candidates.push(describe(release, verdict, plan, device));
    if (verdict === 'offered') break;
  }
  return { reason: decide(plan, device, barred).reason, candidates };
}

/** Whatever its status, highest first: above the version that runs, or below it when that was rolled back. */
function releasesOnTheWay({ catalog, fields, allowDowngrade }: UpdatePlan): CompiledRelease[] {
  // In the catalog they lie highest first.
  return [...catalog.byCanonical.values()].filter(({ version }) => {
    if (fields.version === undefined) return false;
    const order = compareVersions(version, fields.version);
    return allowDowngrade ? order < 0 : order > 0;
  });
}

function verdictOn(
  release: CompiledRelease,
  inQuestion: ReadonlySet<CompiledRelease>,
  plan: UpdatePlan,
  device: Device,
  barred: ReadonlySet<string>,
): Verdict {
  const { status } = release.source;
  if (status !== 'published') return status === 'rolled_back' ? 'rolled-back' : status;
  if (!inQuestion.has(release)) return 'no-artifact';
  const obstacle = obstacleFor(release, plan, device, barred);
  return obstacle === undefined ? 'offered' : (obstacle as Verdict);
}

function describe(
  release: CompiledRelease,
  verdict: Verdict,
  plan: UpdatePlan,
  device: Device,
): ExplainedRelease {
  const { source, threshold, seed } = release;
  const bucket = device.hash === undefined ? undefined : cohortBucket(device.hash, seed);
  return {
    version: source.version,
    verdict,
    detail: sentence(release, verdict, plan, device, bucket),
    ...(bucket === undefined ? {} : { bucket }),
    threshold,
  };
}

function sentence(
  { source, threshold }: CompiledRelease,
  verdict: Verdict,
  { fields, allowDowngrade }: UpdatePlan,
  device: Device,
  bucket: number | undefined,
): string {
  switch (verdict) {
    case 'offered':
      return allowDowngrade
        ? 'Offered: the version it runs was rolled back, and this is the highest below it that fits.'
        : 'Offered: the highest version that fits.';
    case 'no-artifact':
      return fields.arch === NO_ARCH
        ? `It has no artifact for ${fields.platform} devices that tell no architecture.`
        : `It has no artifact for ${fields.platform}/${fields.arch}.`;
    case 'not-targeted':
      return `It is targeted, and this device does not match: ${unmetConditions(
        source.targets,
        fields,
        device.labels,
      ).join('; ')}.`;
    case 'outside-cohort':
      return bucket === undefined
        ? `It is rolled out to ${source.rolloutPct}%, and a device without an id is in no part of that.`
        : `It is rolled out to ${source.rolloutPct}%: buckets below ${threshold} of ${COHORT_BUCKETS} ` +
            `are in, this device is in bucket ${bucket}.`;
    case 'first-offer-unavailable':
      return 'Nobody was offered it yet, and that it is could not be recorded right now.';
    case 'paused':
      return 'It is paused.';
    case 'deprecated':
      return 'It is deprecated: nobody is offered it any more.';
    case 'rolled-back':
      return 'It was rolled back.';
  }
}
