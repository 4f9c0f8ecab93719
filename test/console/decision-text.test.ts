// Tests sentences about what devices get: for a ticket, a list, and a device that the reader describes.

import { describe, expect, it } from 'vitest';
import {
  briefReasonText,
  reasonText,
  stayText,
  ticketText,
  toldText,
  troubleText,
  verdictText,
} from '../../src/console/format/decision-text.ts';
import type { DeviceRelease, ExplainedDecision } from '../../src/contract/console-fleet.ts';

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

const UP_TO_DATE = { ...DECISION, reason: 'up-to-date' } as const;
const candidate = (version: string, verdict: 'paused' | 'rolled-back' | 'no-artifact') => ({
  ...{ version, verdict, detail: '' },
});

it.each([
  [
    { ...UP_TO_DATE, candidates: [candidate('2.4.0', 'paused')] },
    '2.4.0 is newer, but is paused, so it is not offered.',
  ],
  [
    {
      ...UP_TO_DATE,
      candidates: [candidate('2.3.0', 'paused'), candidate('2.4.0', 'no-artifact')],
    },
    'No newer release is being offered on its channel.',
  ],
  [
    {
      ...DECISION,
      offer: { version: '2.0.0', allowDowngrade: true } as ExplainedDecision['offer'],
    },
    '2.3.1 was rolled back, so it is sent down to the newest release below that it can have.',
  ],
  [DECISION, 'The newest release is rolling out, and has not reached this device yet.'],
])('why a device gets what it gets: %#', (decision, text) => {
  expect(reasonText(decision as ExplainedDecision)).toBe(text);
});

describe('what went wrong with the latest release that a device was offered', () => {
  const LATEST: DeviceRelease = {
    ...{ version: '2.0.0', channel: 'stable', status: 'published' },
    ...{ offeredAt: '2026-01-01T00:00:00.000Z', installedAt: null, revertedAt: null },
    ...{ failedAt: null, failedReason: null },
  };
  const AT = '2026-01-02T00:00:00.000Z';
  const FAILED = { ...LATEST, failedAt: AT };
  const WAITED = 'It was offered 2.0.0, checked in again, and is still on the old version.';
  const OLDER = { ...LATEST, version: '1.5.0', failedAt: AT };

  it.each<[what: string, releases: DeviceRelease[], text: string | undefined]>([
    ['failed, and why', [{ ...FAILED, failedReason: 'x 1' }], 'It failed to install 2.0.0: “x 1”.'],
    ['failed', [FAILED, OLDER], 'It failed to install 2.0.0.'],
    ['went back', [{ ...LATEST, revertedAt: AT }], 'It was on 2.0.0, and went back.'],
    ['waited a day', [LATEST], WAITED],
    ['was offered it just now', [{ ...LATEST, offeredAt: AT }], undefined],
    ['was on it once', [{ ...LATEST, installedAt: AT }], undefined],
    ['cannot get it any more', [{ ...FAILED, status: 'rolled_back' }], undefined],
    ['runs it by now', [{ ...FAILED, version: '1.0.0' }], undefined],
    ['was offered nothing', [], undefined],
  ])('%s', (_, releases, text) => {
    expect(troubleText(releases, { version: '1.0.0', lastSeen: AT })).toBe(text);
  });
});

it.each([
  [{ device: null }, 'No device with this id is on record.'],
  [{ offer: '2.0.0' }, 'The newest release that it can have.'],
  [{ why: '2.0.0: paused' }, '2.0.0: paused'],
  [{}, 'No newer release is being offered on its channel.'],
])('in a list: %j', (of, text) => {
  const { version, channel, platform, arch } = DECISION.device;
  const device = { version, channel, platform, arch };
  const brief = { deviceId: 'a', device, offer: null, reason: 'up-to-date' as const, why: null };
  expect(briefReasonText({ ...brief, ...of })).toBe(text);
});

describe('a device that the reader describes', () => {
  it.each([
    [{ reason: 'not-targeted' }, 'The newest release is not meant for a device without labels.'],
    [{ reason: 'up-to-date' }, 'No newer release is being offered on its channel.'],
    [
      { reason: 'offered', update: { allowDowngrade: true } },
      'Its release was rolled back, so it is sent down to the newest release below.',
    ],
  ])('%j', (decision, text) => {
    expect(toldText(decision as Parameters<typeof toldText>[0])).toBe(text);
  });

  it.each([
    [{ verdict: 'not-published', status: 'rolled_back' }, 'rolled back'],
    [{ verdict: 'no-artifact', status: 'published' }, 'no artifact'],
    [
      { verdict: 'outside-cohort', status: 'published', bucket: 6725, threshold: 0 },
      'not yet its turn: it stands at 67.25 %, the rollout at 0 %',
    ],
  ])('a release considered for it: %j', (candidate, text) => {
    expect(verdictText(candidate as Parameters<typeof verdictText>[0])).toBe(text);
  });
});

it('says why devices stay on a release that is rolled back', () => {
  expect(stayText('rolled-back-without-fallback')).toMatch(/^no older release that is published/);
  expect(stayText('first-offer-unavailable')).toBe('they are offered nothing else');
});
