// Tests the sentence about a device for a ticket.

import { expect, it } from 'vitest';
import { ticketText } from '../../src/console/format/decision-text.ts';
import type { ExplainedDecision } from '../../src/contract/console-fleet.ts';

const DECISION: ExplainedDecision = {
  device: {
    ...{ deviceId: 'mac-1', version: '2.3.1', platform: 'darwin', arch: 'aarch64' },
    ...{ channel: 'stable', labels: {}, source: 'pull', client: null, bundle: null },
    ...{ firstSeen: '', lastSeen: '', lastOffered: null },
  },
  offer: null,
  reason: 'outside-cohort',
  candidates: [
    { version: '2.4.0', verdict: 'outside-cohort', detail: '', bucket: 6725, threshold: 5000 },
  ],
  considered: 1,
  current: { version: '2.3.1', status: 'published' },
};

it('says when the rollout reaches the device', () => {
  expect(ticketText(DECISION)).toBe(
    'Device mac-1 (darwin aarch64, channel stable) runs 2.3.1. 2.4.0 is at 50 %; this device ' +
      'stands at 67.25 %, so it gets it when the rollout reaches 68 %.',
  );
});

it('a device at the very place is in with the next whole percent, as the cohort rule has it', () => {
  const [candidate] = DECISION.candidates;
  if (candidate === undefined) throw new Error('there is no candidate');
  const at = (bucket: number) =>
    ticketText({ ...DECISION, candidates: [{ ...candidate, bucket, threshold: 100 }] });
  expect(at(6700)).toContain('reaches 68 %');
  expect(at(6699)).toContain('reaches 67 %');
  expect(at(9999)).toContain('reaches 100 %');
});

it('says what it gets, or why it gets nothing', () => {
  const offer = { version: '2.4.0' } as ExplainedDecision['offer'];
  expect(ticketText({ ...DECISION, offer, reason: 'offered', candidates: [] })).toBe(
    'Device mac-1 (darwin aarch64, channel stable) runs 2.3.1 and gets 2.4.0 when it next asks.',
  );
  expect(ticketText({ ...DECISION, reason: 'up-to-date', candidates: [] })).toBe(
    'Device mac-1 (darwin aarch64, channel stable) runs 2.3.1 and gets nothing when it next asks. ' +
      'No newer release is being offered on its channel.',
  );
});
