// What is told of a change of how a release is served.

import { describe, expect, test } from 'vitest';
import type { EventType } from '../../../src/contract/notification.ts';
import { type ServedState, servingEvents } from '../../../src/domain/release/serving-events.ts';

const LIVE = { status: 'published', rolloutPct: 20, targets: null } as const;
const PAUSED = { ...LIVE, status: 'paused' } as const;
const WIDER = { ...LIVE, rolloutPct: 30 } as const;
const PUBLIC = { status: 'published' } as const;
const NARROW = { labels: { ring: ['early'] } } as never;

const MOVED = { ...WIDER, targets: NARROW } as const;

type Case = readonly [
  title: string,
  before: ServedState,
  after: ServedState,
  told: readonly EventType[],
  flags: { readonly isFirst?: boolean; readonly isStep?: boolean },
];

const CASES: readonly Case[] = [
  ['nothing', LIVE, LIVE, [], {}],
  ['a raise', LIVE, WIDER, ['release.raised'], {}],
  ['a raise by a plan', LIVE, WIDER, [], { isStep: true }],
  ['a lower rollout', LIVE, { ...LIVE, rolloutPct: 10 }, [], {}],
  ['a pause', LIVE, PAUSED, ['release.paused'], {}],
  ['a pause by a plan', LIVE, PAUSED, ['release.paused'], { isStep: true }],
  ['a pause that only names the status', PUBLIC, { status: 'paused' }, ['release.paused'], {}],
  ['the end of a pause', PAUSED, LIVE, ['release.resumed'], {}],
  ['the end of a pause, with a raise', PAUSED, WIDER, ['release.resumed', 'release.raised'], {}],
  ['the first publishing', PAUSED, LIVE, ['release.published'], { isFirst: true }],
  ['one that also raises and retargets', PAUSED, MOVED, ['release.published'], { isFirst: true }],
  ['a rollback', LIVE, { ...LIVE, status: 'rolled_back' }, ['release.rolled_back'], {}],
  ['a deprecation', LIVE, { ...LIVE, status: 'deprecated' }, ['release.deprecated'], {}],
  ['another targeting', LIVE, { ...LIVE, targets: NARROW }, ['release.retargeted'], {}],
  ['files alone', {}, {}, [], {}],
];

describe('what is told of a release (§30.1)', () => {
  test.each(CASES)('%s', (_title, before, after, told, flags) => {
    const events = servingEvents(before, after, { isFirst: false, isStep: false, ...flags });
    expect(events.map(({ type }) => type)).toEqual(told);
  });

  test('says how it is served now, and how far it went out before', () => {
    const after = { ...LIVE, rolloutPct: 30, stop: 'stp_1' };
    const [raised] = servingEvents(LIVE, after, { isFirst: false, isStep: false });
    const facts = { status: 'published', rollout: 30, rolloutBefore: 20, targets: null };
    expect(raised).toEqual({ type: 'release.raised', facts: { ...facts, stop: 'stp_1' } });
  });

  test('leaves out a targeting that no message has room for (§30.2)', () => {
    const ring = Array.from({ length: 3000 }, (_, at) => `ring-${at}`);
    const targets = { matchLabels: { ring }, matchExpressions: [] };
    const flags = { isFirst: false, isStep: false };
    const [told] = servingEvents(LIVE, { ...LIVE, targets }, flags);
    const facts = { status: 'published', rollout: 20, rolloutBefore: 20 };
    expect(told).toEqual({ type: 'release.retargeted', facts });
  });
});
