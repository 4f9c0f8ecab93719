// Events for tests of messages: one of each type.

import type { NotificationEvent } from '../../src/contract/notification.ts';

const organization = { id: 'org_1', name: 'Acme' };
const release = { app: 'desktop', channel: 'beta', version: '2.5.0-beta.1' };
const author = { actor: 'key:key_1 (CI)', reason: null };
const nowhere = { app: null, channel: null, version: null };
const plan = { id: 'pln_1', status: 'running', step: 2, steps: 3, rollout: 25 } as const;
const key = { id: 'key_1', name: 'CI', prefix: 'slk_ab' };
const destination = { id: 'dst_1', kind: 'webhook', name: 'Ops' } as const;
const approval = {
  ...{ id: 'apr_1', status: 'pending', requestedBy: 'key:key_1 (CI)', decidedBy: null },
  operation: 'publishRelease',
} as const;

const served = { status: 'published', rollout: 10, rolloutBefore: 5 };
const guard = {
  ...{ guard: 'stuck', count: 30, base: 205, percent: 14.6, low: 10.1, high: 20.3, limit: 2.5 },
  platform: { name: 'windows', devices: 30, base: 76, percent: 39.5 },
};
const guards = [
  { ...guard, tripped: true },
  { ...guard, guard: 'failed', percent: 0, limit: 1, tripped: false, platform: null },
];
const member = { email: 'ann@example.com', roleBefore: 'viewer', role: 'owner' };
const byAnn = { actor: 'account:ann@example.com' };
const decided = { ...approval, status: 'declined', decidedBy: 'account:ann@example.com' };
const byOperator = { actor: 'admin-token' };
const byGithub = { actor: 'integration:github' };
const stuck = { status: 'paused', actor: 'plan:pln_1', reason: 'stuck: 30 of 205 devices' };
const waitingFor = { guard: 'stuck', since: '', reason: 'stuck: 3 devices' };
const edge = { id: 'edt_1', name: 'Oslo', prefix: 'sle_ab' };

/** Events, each with its facts and the sentence that says it; `…` is the release. */
const SAID: readonly (readonly [NotificationEvent['type'], facts: object, sentence: string])[] = [
  ['release.published', served, '… published at 10 % by key CI.'],
  [
    'release.raised',
    { ...served, ...byAnn, reason: 'It looks well' },
    '… raised from 5 % to 10 % by ann@example.com: It looks well.',
  ],
  ['release.paused', stuck, '… paused by its plan: stuck: 30 of 205 devices.'],
  ['release.resumed', { ...served, ...byOperator }, '… published again at 10 % by the operator.'],
  ['release.rolled_back', { status: 'rolled_back' }, '… rolled back by key CI.'],
  ['release.deprecated', { status: 'deprecated' }, '… deprecated by key CI.'],
  ['release.retargeted', { ...served, targets: null }, '… offered to other devices by key CI.'],
  ['release.withdrawn', { ...served, ...byGithub }, '… withdrawn by the webhook of GitHub.'],
  ['release.promoted', { ...served, from: 'alpha' }, '… promoted from alpha at 10 % by key CI.'],
  ['plan.started', { plan }, '… goes out by a plan of 3 steps by key CI.'],
  ['plan.step', { plan }, '… is at 25 %: step 2 of 3 of its plan began.'],
  ['plan.waiting', { plan, waitingFor }, '… waits with its next step: stuck: 3 devices.'],
  [
    'plan.tripped',
    { plan, guards },
    '… stopped by its guard: stuck 14.6 % of 205 devices (limit 2.5 %), Windows 39.5 %.',
  ],
  ['plan.held', { plan, ...byAnn }, '… goes no further: its plan was held by ann@example.com.'],
  ['plan.completed', { plan }, '… completed its plan.'],
  ['plan.cancelled', { plan }, '… goes on without its plan, which was cancelled by key CI.'],
  ['edge.refused', { edge, ...nowhere }, 'Edge Oslo (sle_ab…) was refused: its token is revoked.'],
  ['key.created', { key, ...nowhere, ...byAnn }, 'Key CI (slk_ab…) created by ann@example.com.'],
  ['key.revoked', { key, ...nowhere, ...byAnn }, 'Key CI (slk_ab…) revoked by ann@example.com.'],
  [
    'member.changed',
    { member, ...nowhere, ...byOperator },
    'ann@example.com is now owner of Acme, was viewer, changed by the operator.',
  ],
  [
    'member.changed',
    { member: { ...member, roleBefore: null }, ...nowhere, ...byAnn },
    'ann@example.com joined Acme as owner, invited by ann@example.com.',
  ],
  [
    'member.changed',
    { member: { ...member, role: null }, ...nowhere, ...byOperator },
    'ann@example.com is no longer a member of Acme, removed by the operator.',
  ],
  [
    'approval.requested',
    { approval, reason: 'Hotfix' },
    '…: publish waits for an approval, asked for by key CI: Hotfix.',
  ],
  ['approval.approved', { approval: decided }, '…: publish was approved by ann@example.com.'],
  [
    'approval.declined',
    { approval: decided, reason: 'Too late' },
    '…: publish was declined by ann@example.com: Too late.',
  ],
  ['approval.expired', { approval }, '…: publish was not approved in time.'],
  [
    'approval.failed',
    { approval: decided, reason: 'It was paused since' },
    '…: publish was approved and could not be done: It was paused since.',
  ],
  [
    'destination.disabled',
    { destination, ...nowhere, reason: 'It answered 410' },
    'Notifications to Ops (webhook) are switched off: It answered 410.',
  ],
  [
    'test',
    { destination, ...nowhere, ...byAnn },
    'This is a test of Ops, sent by ann@example.com.',
  ],
];

/** Event and the sentence that says it. */
export const EVENTS: readonly (readonly [NotificationEvent, string])[] = SAID.map(
  ([type, facts, sentence]) => {
    const data = { organization, ...release, ...author, ...facts };
    const event = { id: 'evt_1', type, timestamp: '2026-08-01T02:00:00.000Z', data };
    return [
      event as unknown as NotificationEvent,
      sentence.replace(/^…/, 'desktop beta 2.5.0-beta.1'),
    ];
  },
);

/** Returns an event of a type with other parts of its data. */
export function eventWith(type: NotificationEvent['type'], parts: object): NotificationEvent {
  const found = EVENTS.find(([known]) => known.type === type)?.[0];
  if (found === undefined) throw new Error(`no event ${type}`);
  return { ...found, data: { ...found.data, ...parts } } as NotificationEvent;
}
