// Tests what the explanation of a device that speaks DDI adds to the decision of its channel
// (docs/contract.md 34.51).

import { expect, it } from 'vitest';
import { DDI_DEFAULTS } from '../../src/contract/resource.ts';
import type { JudgedCandidate } from '../../src/domain/decision/explain.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { type Bar, type DeviceActions, NO_ACTIONS } from '../../src/domain/fleet/device-actions.ts';
import { explainPoll, type PollSurroundings } from '../../src/serving/poll-explanation.ts';
import { release } from '../domain/sample.ts';

const T0 = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const BAR: Bar = {
  ...{ number: 3, version: '2.0.0', result: 'failed', at: T0, tries: 1, isConfirmed: false },
};
const BARRED: DeviceActions = { ...NO_ACTIONS, bars: [BAR] };

function judged(
  verdict: JudgedCandidate['verdict'],
  parts: Partial<SnapshotRelease> = {},
): JudgedCandidate {
  const source = release('2.0.0', { number: 3, ...parts });
  return { version: '2.0.0', verdict, detail: '', bucket: 1, threshold: 10_000, source };
}
const PAUSED = judged('paused');
const OFFERED = judged('offered');

function explained(part: Partial<PollSurroundings>, candidates = [PAUSED, OFFERED]) {
  const around = { settings: DDI_DEFAULTS, version: '1.0.0', actions: undefined, now: T0 };
  return explainPoll({ reason: 'offered', candidates }, { ...around, ...part });
}

it('waits for an unknown version, unless the channel offers all the same (34.51)', () => {
  expect(explained({ version: null })).toEqual({ reason: 'unknown-version', candidates: [] });
  const settings = { ...DDI_DEFAULTS, unknownVersion: 'offer' } as const;
  expect(explained({ version: null, settings })).toBeUndefined();
});

it.each<[what: string, bar: Partial<Bar>, detail: RegExp]>([
  ['a failure', {}, /^It failed to install this, and gets it again from 2026-01-01T01:00:00.000Z/],
  ['the last failure', { tries: 3 }, /^It failed to install this, and does not get it again\.$/],
  ['a success', { result: 'succeeded', tries: 0 }, /^It has closed this as installed/],
])('bars from the release that is decided, and says why: %s (34.51)', (_, bar, detail) => {
  const actions = { ...BARRED, bars: [{ ...BAR, ...bar }] };
  expect(explained({ actions })).toEqual({
    reason: 'barred',
    candidates: [PAUSED, { ...OFFERED, verdict: 'barred', detail: expect.stringMatching(detail) }],
  });
});

it.each<[what: string, around: Partial<PollSurroundings>, decided?: JudgedCandidate]>([
  ['nothing is on record', {}],
  ['the bar is over', { actions: BARRED, now: T0 + HOUR }],
  [
    'all devices try again',
    { actions: BARRED },
    judged('offered', { retriedAt: new Date(T0).toISOString() }),
  ],
  ['another release is decided', { actions: BARRED }, judged('offered', { number: 4 })],
  ['nothing is decided', { actions: BARRED }, judged('outside-cohort')],
  [
    'an action is open',
    {
      actions: {
        ...BARRED,
        action: {
          ...{ number: 3, version: '2.0.0', state: 'open', since: T0 },
          ...{ channelId: 'chn_1', order: { epoch: 0, revision: 1 } },
        },
      },
    },
  ],
])('goes by the decision where %s (34.51)', (_, around, decided = OFFERED) => {
  expect(explained(around, [PAUSED, decided])).toBeUndefined();
});
