// A decision in one sentence, for a ticket or a message to the person at the device.

import type { ExplainedDecision } from '../../contract/console-fleet.ts';
import { cohortPlace } from './cohort-place.ts';
import { reasonText } from './reason-text.ts';

/** Returns what the device runs, what it would get now, and when the next release reaches it. */
export function ticketText(decision: ExplainedDecision): string {
  const { device, offer, current, candidates } = decision;
  const machine = [device.platform, device.arch].filter(Boolean).join(' ');
  const who = `Device ${device.deviceId} (${machine}, channel ${device.channel})`;
  const runs = `${who} runs ${current.version ?? 'an unknown version'}`;
  if (offer !== null) return `${runs} and gets ${offer.version} when it next asks.`;
  const waiting = candidates.find(({ verdict }) => verdict === 'outside-cohort');
  if (waiting?.bucket === undefined) {
    return `${runs} and gets nothing when it next asks. ${reasonText(decision)}`;
  }
  const { version, bucket, threshold } = waiting;
  const [place, reach] = [bucket, threshold].map(cohortPlace.text);
  return (
    `${runs}. ${version} is at ${reach}; this device stands at ${place}, so it gets it when the roll-out ` +
    `reaches ${cohortPlace.reachedAt(bucket)} %.`
  );
}
