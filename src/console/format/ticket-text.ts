// A decision in one sentence, for a ticket or a message to the person at the device.

import type { ExplainedDecision } from '../../contract/console-fleet.ts';
import { reasonText } from './reason-text.ts';
import { percentText } from './told-text.ts';

const BUCKETS_PER_PERCENT = 100;

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
  const reached = Math.floor(bucket / BUCKETS_PER_PERCENT) + 1;
  return (
    `${runs}. ${version} is at ${percentText(threshold)}; this device stands at ${percentText(bucket)}, ` +
    `so it gets it when the roll-out reaches ${reached} %.`
  );
}
