// Sentences for the decision about a device that the reader describes.

import type { Explanation, ListedCandidate } from '../../contract/explanation.ts';
import { cohortPlace } from './cohort-place.ts';

const TOLD_TEXTS: Readonly<Record<string, string>> = {
  offered: 'The newest release that it can have.',
  'up-to-date': 'It would be up to date: no newer release is being offered on its channel.',
  'no-artifact': 'No newer release has an artifact for its platform and architecture.',
  'not-targeted': 'The newest release is not meant for a device without labels.',
  'outside-cohort': 'The newest release is rolling out, and would not reach this device yet.',
  'rolled-back-without-fallback':
    'Its release was rolled back, and there is no older one to send it down to.',
};

/** Returns why a device would get what it would get. */
export function toldText({ reason, update }: Explanation['decision']): string {
  if (update?.allowDowngrade === true) {
    return 'Its release was rolled back, so it is sent down to the newest release below.';
  }
  return TOLD_TEXTS[reason] ?? reason;
}

/** Returns what was found about a release for the device, with its place where that is the reason. */
export function verdictText({ verdict, bucket, threshold, status }: ListedCandidate): string {
  if (verdict === 'not-published') return status.replaceAll('_', ' ');
  if (verdict !== 'outside-cohort' || bucket === null) return verdict.replaceAll('-', ' ');
  const [place, reach] = [bucket, threshold].map(cohortPlace.text);
  return `not yet its turn: it stands at ${place}, the roll-out at ${reach}`;
}
