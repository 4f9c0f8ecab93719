// Tests what is shown of the actions of a device that speaks DDI (docs/contract.md 34.50).

import { describe, expect, it } from 'vitest';
import {
  closeAction,
  endCancelled,
  noteFetched,
} from '../../../src/domain/fleet/action-reports.ts';
import {
  actionId,
  type Bar,
  type DeviceActions,
  NO_ACTIONS,
} from '../../../src/domain/fleet/device-actions.ts';
import { type ActionSurroundings, shownActions } from '../../../src/domain/fleet/shown-actions.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(T0 + ms).toISOString();
const around = (part: Partial<ActionSurroundings> = {}): ActionSurroundings => ({
  releases: [{ number: 3, retriedAt: null, reason: 'no space left' }],
  rule: { retries: 2, retryAfterMinutes: 60 },
  now: T0 + MINUTE,
  ...part,
});
const OPEN: DeviceActions = {
  ...{ ...NO_ACTIONS, version: '1.0.0', hasTold: true },
  action: {
    ...{ number: 3, version: '2.0.0', state: 'open', since: T0 },
    ...{ channelId: 'chn_1', order: { epoch: 0, revision: 1 } },
  },
};
const ID = actionId(3, 0);
const WITHDRAWING: DeviceActions = {
  ...OPEN,
  action: OPEN.action && { ...OPEN.action, state: 'withdrawing' },
};

describe('the shown action (34.50)', () => {
  it.each<[state: string, device: DeviceActions, since: number, reason: string | null]>([
    ['open', OPEN, 0, null],
    ['fetched', noteFetched(OPEN, ID, T0 + 5), 5, null],
    ['withdrawing', WITHDRAWING, 0, null],
    ['succeeded', closeAction(OPEN, ID, 'succeeded', T0 + 6), 6, null],
    ['failed', closeAction(OPEN, ID, 'failed', T0 + 7), 7, 'no space left'],
    ['withdrawn', endCancelled(WITHDRAWING, ID, T0 + 8), 8, null],
  ])('is the open one, else the last: %s', (state, device, since, reason) => {
    const { action } = shownActions(device, around());
    expect(action).toEqual({ id: '31', version: '2.0.0', state, since: at(since), reason });
  });

  it('has no reason where none is known, and is null before the first', () => {
    const failed = closeAction(OPEN, ID, 'failed', T0);
    expect(shownActions(failed, around({ releases: [] })).action?.reason).toBeNull();
    expect(shownActions(NO_ACTIONS, around())).toEqual({ action: null, barred: [] });
  });
});

describe('the shown bars (34.50)', () => {
  const bar = (part: Partial<Bar>): Bar => ({
    ...{ number: 3, version: '2.0.0', result: 'failed', at: T0, tries: 1, isConfirmed: false },
    ...part,
  });
  const barred = (part: Partial<Bar>, more?: Partial<ActionSurroundings>) =>
    shownActions({ ...NO_ACTIONS, bars: [bar(part)] }, around(more)).barred;

  it.each<[string, Partial<Bar>, ActionSurroundings['rule'], until: string | null]>([
    ['a failure', {}, around().rule, at(60 * MINUTE)],
    ['the second failure', { tries: 2 }, around().rule, at(120 * MINUTE)],
    ['the last failure', { tries: 3 }, around().rule, null],
    ['a failure on a channel without DDI', {}, null, null],
    ['a success', { result: 'succeeded', tries: 0 }, around().rule, null],
  ])('%s bars until the settings end it', (_, part, rule, until) => {
    const { result = 'failed' } = part;
    expect(barred(part, { rule })).toEqual([{ version: '2.0.0', result, until }]);
  });

  it('are those that count: neither over nor lifted for all devices', () => {
    expect(barred({}, { now: T0 + 60 * MINUTE })).toEqual([]);
    const retried = (retriedAt: number) => ({ releases: [{ number: 3, retriedAt, reason: null }] });
    expect(barred({}, retried(T0))).toEqual([]);
    expect(barred({}, retried(T0 - 1))).toHaveLength(1);
  });
});
