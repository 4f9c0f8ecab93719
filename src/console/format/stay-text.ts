// Sentences for why devices stay on a release that they would be taken from.

import type { Reason } from '../../contract/reason.ts';

/** Returns why devices are offered nothing, to stand after "they stay on it:". */
export function stayText(reason: Reason): string {
  return STAY_TEXTS[reason] ?? 'they are offered nothing else';
}

const STAY_TEXTS: Readonly<Partial<Record<Reason, string>>> = {
  'no-artifact': 'no release that they could get has a file for them',
  'not-targeted': 'what they could get is meant for other devices',
  'outside-cohort': 'they are outside the roll-out of what they could get',
  'rolled-back-without-fallback':
    'no older release that is published has a file for them and is meant for them',
  'up-to-date': 'there is nothing newer for them',
};
