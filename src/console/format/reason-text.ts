// Why a device gets what it gets, as a sentence.

import type { DecisionDetails } from '../api/resource.ts';

const REASONS: Readonly<Record<string, string>> = {
  'up-to-date': 'It is up to date: no newer release is being offered on its channel.',
  'no-artifact': 'No newer release has an artifact for its platform and architecture.',
  'not-targeted': 'The newest release is not meant for devices like this one.',
  'outside-cohort': 'The newest release is rolling out, and has not reached this device yet.',
  'rolled-back-without-fallback':
    'Its release was rolled back, and there is no older one to send it down to.',
  'first-offer-unavailable':
    'The newest release was never offered yet, and that cannot be recorded right now.',
  'unknown-version':
    'Its updater does not tell which version it runs, and compares by itself (electron-updater).',
};

/** For an offer: up or down, and why that one. Without: what kept the best candidate away. */
export function reasonText({ offer, reason, current }: DecisionDetails): string {
  if (offer?.allowDowngrade === true) {
    return (
      `${current.version ?? 'Its release'} was rolled back, so it is sent down to the newest release ` +
      'below that it can have.'
    );
  }
  if (offer !== null) return 'The newest release that it can have.';
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reason;
}
