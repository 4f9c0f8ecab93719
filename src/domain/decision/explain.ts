// Explains a decision: the answer of `decide` for a device and, for each release considered, why it is
// offered or not. Considered are the releases above the device's version, or those below it if its version
// was rolled back. Pure, like the decision.

import type { ExplainedCandidate } from '../../contract/console-fleet.ts';
import type { Reason } from '../../contract/explanation.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { selectArtifact } from './artifact/artifact.ts';
import { NO_ARCH } from './artifact/fold-arch.ts';
import type { CompiledRelease } from './catalog.ts';
import { cohortBucket, cohortThreshold, hashText } from './cohort.ts';
import { decide, NOTHING_EXCLUDED, obstacleTo } from './decide.ts';
import type { Plan } from './plan.ts';
import type { Device } from './rule/decision-rule.ts';
import type { SnapshotRelease } from './serving-snapshot.ts';
import type { RequestFields } from './targeting.ts';
import { compareVersions } from './version.ts';

/** A release and its verdict. */
export type JudgedCandidate = ExplainedCandidate & { readonly source: SnapshotRelease };

export type Explanation = {
  readonly reason: Reason;
  /** Releases in the order considered, up to the offered one. */
  readonly candidates: readonly JudgedCandidate[];
};

type Judgement = Pick<ExplainedCandidate, 'verdict' | 'detail'>;

const OUT_OF_SERVICE: Readonly<Record<Exclude<ReleaseStatus, 'published'>, Judgement>> = {
  paused: { verdict: 'paused', detail: 'It is paused.' },
  deprecated: {
    verdict: 'deprecated',
    detail: 'It is deprecated: no device is offered it any more.',
  },
  rolled_back: { verdict: 'rolled-back', detail: 'It was rolled back.' },
};

/** Explains the decision that `decide` makes for the same arguments. */
export function explain(
  plan: Plan,
  device: Device,
  excluded: ReadonlySet<string> = NOTHING_EXCLUDED,
): Explanation {
  const inQuestion = new Set(plan.list.slice(plan.from, plan.to).map(({ release }) => release));
  const candidates: JudgedCandidate[] = [];
  for (const release of releasesOnTheWay(plan)) {
    const judgement = judge(release, inQuestion.has(release), plan, device, excluded);
    candidates.push(describe(release, judgement, device));
    if (judgement.verdict === 'offered') break;
  }
  return { reason: decide(plan, device, excluded).reason, candidates };
}

/** Returns the releases of any status that the decision considers, highest first. */
function releasesOnTheWay({ catalog, fields, allowDowngrade }: Plan): CompiledRelease[] {
  return [...catalog.byCanonical.values()].filter(({ version }) => {
    // A client that sends no version compares with all of them itself.
    if (fields.version === undefined) return true;
    const order = compareVersions(version, fields.version);
    return allowDowngrade ? order < 0 : order > 0;
  });
}

function judge(
  release: CompiledRelease,
  hasArtifact: boolean,
  { fields, allowDowngrade }: Plan,
  device: Device,
  excluded: ReadonlySet<string>,
): Judgement {
  const { source } = release;
  if (source.status !== 'published') return OUT_OF_SERVICE[source.status];
  if (!hasArtifact) return { verdict: 'no-artifact', detail: missingArtifact(release, fields) };
  const obstacle = obstacleTo(release, fields, device, excluded);
  if (obstacle !== undefined) {
    return { verdict: obstacle.reason, detail: obstacle.sentence(source, fields, device) };
  }
  const detail = allowDowngrade
    ? 'Offered: the version it runs was rolled back, and this is the highest below it that fits.'
    : 'Offered: the highest version that fits.';
  return { verdict: 'offered', detail };
}

function missingArtifact({ artifacts }: CompiledRelease, fields: RequestFields): string {
  const { platform, arch } = fields;
  if (selectArtifact(artifacts, platform, arch) !== undefined) {
    return `None of its artifacts for ${platform} is one that this device can install.`;
  }
  return arch === NO_ARCH
    ? `It has no artifact for ${platform} devices that tell no architecture.`
    : `It has no artifact for ${platform}/${arch}.`;
}

function describe(
  { source }: CompiledRelease,
  { verdict, detail }: Judgement,
  { hash }: Device,
): JudgedCandidate {
  const bucket = hash === undefined ? undefined : cohortBucket(hash, hashText(source.id));
  return {
    version: source.version,
    verdict,
    detail,
    bucket,
    threshold: cohortThreshold(source.rolloutPct),
    source,
  };
}
