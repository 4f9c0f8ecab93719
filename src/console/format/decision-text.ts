// Sentences for decisions: why a device gets an update or none, also for a ticket, for a device that the
// reader describes, and for devices that stay on a release that is rolled back.

import type {
  BriefDecision,
  DeviceRelease,
  ExplainedDecision,
} from '../../contract/console-fleet.ts';
import type {
  Explanation,
  ListedCandidate,
  Reason,
  ShownReason,
} from '../../contract/explanation.ts';
import { wordFor } from '../../contract/text.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';

const SENTENCES: Readonly<Record<ShownReason, string>> = {
  offered: 'The newest release that it can have.',
  'up-to-date': 'No newer release is being offered on its channel.',
  'no-artifact': 'No newer release has an artifact for its platform and architecture.',
  'not-targeted': 'The newest release is not meant for devices like this one.',
  'outside-cohort': 'The newest release is rolling out, and has not reached this device yet.',
  'rolled-back-without-fallback':
    'Its release was rolled back, and there is no older one to send it down to.',
  'first-offer-unavailable':
    'The newest release was never offered yet, and that cannot be recorded right now.',
  'unknown-version': 'It has not told its version yet, and its channel waits for that.',
  barred: 'It has closed its action for the newest release, and is kept from that.',
};

/** Returns why this release is offered, or why the newest one is not. */
export function reasonText(decision: ExplainedDecision): string {
  const { offer, reason, current } = decision;
  if (offer?.allowDowngrade === true) {
    return (
      `${current.version ?? 'Its release'} was rolled back, so it is sent down to the newest release ` +
      'below that it can have.'
    );
  }
  if (offer !== null) return SENTENCES.offered;
  // A page loaded before an upgrade of the service may receive an unknown reason.
  const sentence = wordFor(SENTENCES, reason);
  return reason === 'up-to-date' ? (keptBackText(decision) ?? sentence) : sentence;
}

const KEPT_BACK: Readonly<Record<string, string>> = {
  paused: 'is paused',
  deprecated: 'is deprecated',
  'rolled-back': 'was rolled back',
};

/** Returns a sentence on a newer release that is not offered; undefined if there is none. */
function keptBackText({ candidates, current }: ExplainedDecision): string | undefined {
  const own = parseVersion(current.version ?? '');
  const newer = candidates.find(({ version, verdict }) => {
    const other = parseVersion(version);
    const isNewer = own === undefined || other === undefined || compareVersions(other, own) > 0;
    return isNewer && Object.hasOwn(KEPT_BACK, verdict);
  });
  if (newer === undefined) return undefined;
  return `${newer.version} is newer, but ${KEPT_BACK[newer.verdict]}, so it is not offered.`;
}

/** Milliseconds after an offer from which a device that was seen again counts as stuck. */
const STUCK_MS = 24 * 3_600_000;

/**
 * Returns what went wrong with the latest release that a device was offered; undefined if nothing did, or if
 * the device runs that release by now.
 */
export function troubleText(
  releases: readonly DeviceRelease[],
  { version, lastSeen }: { readonly version: string | null; readonly lastSeen: string },
): string | undefined {
  const [latest] = releases.filter((release) => release.version !== version);
  if (latest === undefined || latest.status === 'rolled_back') return undefined;
  const name = latest.version;
  if (latest.failedAt !== null) {
    const reason = latest.failedReason === null ? '' : `: “${latest.failedReason}”`;
    return `It failed to install ${name}${reason}.`;
  }
  if (latest.revertedAt !== null) return `It was on ${name}, and went back.`;
  const waitedMs = Date.parse(lastSeen) - Date.parse(latest.offeredAt ?? lastSeen);
  if (latest.installedAt !== null || waitedMs < STUCK_MS) return undefined;
  return `It was offered ${name}, checked in again, and is still on the old version.`;
}

/** Returns why a device gets an update or none, in the short form for a list. */
export function briefReasonText({ device, offer, reason, why }: BriefDecision): string {
  if (device === null) return 'No device with this id is on record.';
  if (offer !== null) return SENTENCES.offered;
  return why ?? wordFor(SENTENCES, reason ?? '');
}

// Buckets of devices in a rollout, as percentages of the fleet.

/** Number of buckets, like the domain's `COHORT_BUCKETS`, whose file needs a hash that browsers lack. */
const BUCKETS = 10_000;
const BUCKETS_PER_PERCENT = BUCKETS / 100;

export const cohortPlace = {
  buckets: BUCKETS,

  /** Formats a bucket or a threshold: `67.25 %`. */
  text: (bucket: number): string => `${bucket / BUCKETS_PER_PERCENT} %`,

  /** Returns the lowest whole percentage of a rollout that includes a bucket. */
  reachedAt: (bucket: number): number => Math.floor(bucket / BUCKETS_PER_PERCENT) + 1,
};

/**
 * Returns a text for a ticket: what the device runs, what it gets now, when it gets the next release, and
 * what went wrong (`trouble`).
 */
export function ticketText(decision: ExplainedDecision, trouble?: string): string {
  const { device, current } = decision;
  const machine = [device.platform, device.arch].filter(Boolean).join(' ');
  const who = `Device ${device.deviceId} (${machine}, channel ${device.channel})`;
  const text = decisionText(`${who} runs ${current.version ?? 'an unknown version'}`, decision);
  return trouble === undefined ? text : `${text} ${trouble}`;
}

function decisionText(runs: string, decision: ExplainedDecision): string {
  const { offer, candidates } = decision;
  if (offer !== null) return `${runs} and gets ${offer.version} when it next asks.`;
  const waiting = candidates.find(({ verdict }) => verdict === 'outside-cohort');
  if (waiting?.bucket === undefined) {
    return `${runs} and gets nothing when it next asks. ${reasonText(decision)}`;
  }
  const { version, bucket, threshold } = waiting;
  const [place, reach] = [bucket, threshold].map(cohortPlace.text);
  return (
    `${runs}. ${version} is at ${reach}; this device stands at ${place}, so it gets it when the rollout ` +
    `reaches ${cohortPlace.reachedAt(bucket)} %.`
  );
}

const TOLD_TEXTS: typeof SENTENCES = {
  ...SENTENCES,
  'not-targeted': 'The newest release is not meant for a device without labels.',
  'outside-cohort': 'The newest release is rolling out, and would not reach this device yet.',
};

/** Returns why a described device would get an update or none. */
export function toldText({ reason, update }: Explanation['decision']): string {
  if (update?.allowDowngrade === true) {
    return 'Its release was rolled back, so it is sent down to the newest release below.';
  }
  return wordFor(TOLD_TEXTS, reason);
}

/** Returns the verdict on a release for the device, with the device's bucket if that is the reason. */
export function verdictText({ verdict, bucket, threshold, status }: ListedCandidate): string {
  if (verdict === 'not-published') return status.replaceAll('_', ' ');
  if (verdict !== 'outside-cohort' || bucket === null) return verdict.replaceAll('-', ' ');
  const [place, reach] = [bucket, threshold].map(cohortPlace.text);
  return `not yet its turn: it stands at ${place}, the rollout at ${reach}`;
}

/** Returns why devices are offered nothing; the text follows "they stay on it:". */
export function stayText(reason: Reason): string {
  return STAY_TEXTS[reason] ?? 'they are offered nothing else';
}

const STAY_TEXTS: Readonly<Partial<Record<Reason, string>>> = {
  'no-artifact': 'no release that they could get has a file for them',
  'not-targeted': 'what they could get is meant for other devices',
  'outside-cohort': 'they are outside the rollout of what they could get',
  'rolled-back-without-fallback':
    'no older release that is published has a file for them and is meant for them',
  'up-to-date': 'there is nothing newer for them',
};
