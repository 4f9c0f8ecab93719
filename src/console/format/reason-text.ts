// Sentences for the reasons of a decision.

import type { ExplainedDecision } from '../../contract/console-fleet.ts';
import type { Reason } from '../../contract/reason.ts';

const SENTENCES: Readonly<Record<Exclude<Reason, 'offered'>, string>> = {
  'up-to-date': 'It is up to date: no newer release is being offered on its channel.',
  'no-artifact': 'No newer release has an artifact for its platform and architecture.',
  'not-targeted': 'The newest release is not meant for devices like this one.',
  'outside-cohort': 'The newest release is rolling out, and has not reached this device yet.',
  'rolled-back-without-fallback':
    'Its release was rolled back, and there is no older one to send it down to.',
  'first-offer-unavailable':
    'The newest release was never offered yet, and that cannot be recorded right now.',
};

/** Returns why the offered release is the one, or what kept the newest release from the device. */
export function reasonText({ offer, reason, current }: ExplainedDecision): string {
  if (offer?.allowDowngrade === true) {
    return (
      `${current.version ?? 'Its release'} was rolled back, so it is sent down to the newest release ` +
      'below that it can have.'
    );
  }
  if (offer !== null || reason === 'offered') return 'The newest release that it can have.';
  // A page that was loaded before the service was upgraded may receive a reason that it has no text for.
  return Object.hasOwn(SENTENCES, reason) ? SENTENCES[reason] : reason;
}
