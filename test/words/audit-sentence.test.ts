// Tests what is said of audit entries.

import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/contract/resource.ts';
import { auditSentence, auditSubject, isAboutActor } from '../../src/words/audit-sentence.ts';

function entry(action: string, before: unknown, after: unknown): AuditEntry {
  return {
    ...{ id: '1', at: '2026-01-01T00:00:00.000Z', actor: 'admin-token', requestId: null },
    ...{ reason: null, action, subject: 'notes/stable@1.1.0', before, after },
  };
}

const EMPTY = { matchLabels: {}, matchExpressions: [] };
const SERVED = { status: 'published', rolloutPct: 25, targets: null };

const at = (rolloutPct: number) => ({ ...SERVED, rolloutPct });
const PAUSED = { ...SERVED, status: 'paused' };
const BOTH = { ...PAUSED, rolloutPct: 100 };
const AS_NEW = { ...SERVED, targets: EMPTY };
const PROMOTED = { ...SERVED, from: 'beta', artifacts: 1 };
const PUBLISHED = 'Published it';
const PLAN = { steps: [{ rollout: 10 }, { rollout: 100 }], guards: {}, onTrip: 'pause' };
const SETTINGS = { defaultRollout: 100, follows: null, minimumSupportedVersion: null };
const POLLS = { pollSeconds: 300, keys: { version: 'version' } };
const signed = (requireSignature: boolean) => ({ requireSignature });

describe('the sentence of an entry', () => {
  it.each<[action: string, before: unknown, after: unknown, text: string]>([
    ['release.serve', SERVED, at(50), 'Raised the rollout from 25 % to 50 %'],
    ['release.serve', SERVED, at(5), 'Lowered the rollout from 25 % to 5 %'],
    ['release.serve', SERVED, PAUSED, 'Paused it'],
    ['release.serve', { status: 'published' }, { status: 'paused' }, 'Paused it'],
    ['release.serve', { ...SERVED, targets: EMPTY }, PAUSED, 'Paused it'],
    ['release.serve', PAUSED, SERVED, 'Resumed it'],
    ['release.serve', { ...SERVED, status: 'deprecated' }, SERVED, 'Published it again'],
    ['release.serve', SERVED, BOTH, 'Paused it, raised the rollout from 25 % to 100 %'],
    ['release.publish', null, { ...AS_NEW, artifacts: 3 }, `${PUBLISHED} at 25 % with 3 artifacts`],
    [
      ...(['release.publish', null, { ...PAUSED, artifacts: 1 }] as const),
      `${PUBLISHED}, paused, at 25 % with one artifact`,
    ],
    [
      'plan.create',
      null,
      PLAN,
      'Planned the rollout in 2 steps (10 %, 100 %), with guards that pause it',
    ],
    [
      ...(['plan.create', null, { ...PLAN, steps: PLAN.steps.slice(1), guards: null }] as const),
      'Planned the rollout in one step (100 %), with no guards',
    ],
    ['plan.start', {}, { why: null }, 'Started the plan'],
    ['plan.resume', {}, { why: null }, 'Resumed the plan'],
    ['plan.advance', {}, { why: null }, 'Ended the wait of the plan'],
    ['plan.cancel', {}, { why: 'Cancelled' }, 'Cancelled the plan'],
    [
      ...([
        'channel.update',
        SETTINGS,
        { ...SETTINGS, defaultRollout: 20, follows: 'stable' },
      ] as const),
      'Set the default rollout to 20 %, made it follow stable',
    ],
    ['app.update', { archived: false }, { archived: true }, 'Archived it'],
    [
      ...(['app.update', { name: 'A', archived: true }, { name: 'B', archived: false }] as const),
      'Renamed it from “A” to “B”, brought it back',
    ],
    ['release.retry', null, { devices: 1 }, 'Let one device try it again'],
    ['app.update', {}, { ddiAuth: 'token' }, 'Set the DDI authentication to token'],
  ])('%s from %j to %j is "%s"', (action, before, after, text) => {
    const sentence = auditSentence(entry(action, before, after));
    expect(sentence).toMatchObject({ text, why: null, isWhole: true });
  });

  it.each<[action: string, before: unknown, after: unknown, text: string]>([
    ['release.serve', SERVED, { ...SERVED, status: 'rolled_back' }, 'Rolled X back'],
    ['release.serve', SERVED, BOTH, 'Paused X, raised the rollout from 25 % to 100 %'],
    ['release.promote', null, PROMOTED, 'Promoted X from beta at 25 % with one artifact'],
    ['plan.hold', {}, { why: 'Held' }, 'Held the plan of X'],
    ['channel.update', { follows: null }, { follows: 'stable' }, 'Made X follow stable'],
    ['channel.update', signed(false), signed(true), 'Made signatures required on X'],
    ['app.update', { name: 'A of {}' }, { name: 'B' }, 'Renamed X from “A of {}” to “B”'],
    ['release.retry', null, { devices: 'all', bars: 3 }, 'Let all devices try X again'],
    ['app.update', {}, {}, 'Changed the settings of X'],
    ['key.create', null, { name: 'ci' }, 'Created key X'],
    ['member.update', { role: 'viewer' }, { role: 'owner' }, 'Changed the role of X'],
    ['new.action', null, null, 'new.action X'],
  ])('elsewhere %s from %j to %j is "%s"', (action, before, after, text) => {
    expect(auditSentence(entry(action, before, after)).around.join('X')).toBe(text);
  });

  it('what a plan does by itself is done to it, and what people do to themselves needs no subject', () => {
    const held = { ...entry('plan.hold', {}, { why: 'stuck' }), actor: 'plan:pln_1' };
    const { text, around } = auditSentence(held);
    expect([text, around.join('X')]).toEqual(['Was held', 'Was held on X']);
    const [actor, subject] = ['account:ann@example.com', 'ann@example.com'];
    const signedIn = { ...entry('account.sign-in', null, {}), actor, subject };
    expect([auditSentence(signedIn).text, isAboutActor(signedIn)]).toEqual(['Signed in', true]);
    expect(isAboutActor({ ...signedIn, actor: 'account:bob@example.com' })).toBe(false);
  });

  it('tells why apart from what was done', () => {
    const held = auditSentence(entry('plan.hold', {}, { why: 'The release was paused' }));
    expect(held).toMatchObject({ text: 'Held the plan', why: 'The release was paused' });
  });

  it('what it does not say is listed', () => {
    const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
    const said = auditSentence(entry('release.serve', SERVED, { ...SERVED, targets }));
    expect(said).toMatchObject({ text: 'Changed whom it is for', isWhole: false });
    const withdrawn = auditSentence(entry('release.withdraw', SERVED, null));
    expect(withdrawn).toMatchObject({ text: 'Withdrew it', isWhole: false });
    const other = auditSentence(entry('account.end-sessions', null, { sessions: 2 }));
    expect(other).toMatchObject({ text: 'Ended the other sessions', isWhole: false });
    for (const [before, after, text] of [
      [null, POLLS, 'Turned DDI on for it'],
      [POLLS, { ...POLLS, pollSeconds: 60 }, 'Changed the DDI settings'],
      [POLLS, null, 'Turned DDI off for it'],
    ] as const) {
      const changed = entry('channel.update', { ddi: before }, { ddi: after });
      expect(auditSentence(changed)).toMatchObject({ text, isWhole: false });
    }
    const same = entry('channel.update', { ddi: POLLS, follows: null }, { ddi: { ...POLLS } });
    expect(auditSentence(same).text).toBe('Changed the settings');
    expect(auditSentence(entry('new.action', 1, null)).text).toBe('new.action');
    expect(auditSentence(entry('release.serve', null, null)).text).toBe('Changed how it is served');
  });
});

describe('the subject of an entry', () => {
  const id = 'key_01arz3ndektsv4rrffq69g5fav';

  it.each<[subject: string, before: unknown, after: unknown, shown: string]>([
    [id, null, { name: 'ci' }, 'ci'],
    [id, { name: 'ci', revokedAt: null }, { revokedAt: 'x' }, 'ci'],
    [id, { revokedAt: null }, { revokedAt: 'x' }, id],
    ['notes', { name: 'Acme' }, { name: 'Acme Notes' }, 'notes'],
  ])('%s from %j to %j is %s', (subject, before, after, shown) => {
    expect(auditSubject({ ...entry('any', before, after), subject })).toBe(shown);
  });
});
