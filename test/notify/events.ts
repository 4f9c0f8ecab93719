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

type Data = NotificationEvent['data'];

function event(
  type: NotificationEvent['type'],
  facts: object,
  parts: object = {},
): NotificationEvent {
  const data = { organization, ...release, ...author, ...parts, ...facts } as Data;
  return { id: 'evt_1', type, timestamp: '2026-08-01T02:00:00.000Z', data } as NotificationEvent;
}

const served = { status: 'published', rollout: 10, rolloutBefore: 5 };
const guard = {
  guard: 'stuck',
  count: 30,
  base: 205,
  percent: 14.6,
  low: 10.1,
  high: 20.3,
  limit: 2.5,
  platform: { name: 'windows', devices: 30, base: 76, percent: 39.5 },
};
const guards = [
  { ...guard, tripped: true },
  { ...guard, guard: 'failed', percent: 0, limit: 1, tripped: false, platform: null },
];
const member = { email: 'ann@example.com', roleBefore: 'viewer', role: 'owner' };
const byAnn = { actor: 'account:ann@example.com' };
const decided = { ...approval, status: 'declined', decidedBy: 'account:ann@example.com' };

/** Event and the sentence that says it. */
export const EVENTS: readonly (readonly [NotificationEvent, string])[] = [
  [event('release.published', served), 'desktop beta 2.5.0-beta.1 published at 10 % by key CI.'],
  [
    event('release.raised', served, { ...byAnn, reason: 'It looks well' }),
    'desktop beta 2.5.0-beta.1 raised from 5 % to 10 % by ann@example.com: It looks well.',
  ],
  [
    event(
      'release.paused',
      { status: 'paused' },
      { actor: 'plan:pln_1', reason: 'stuck: 30 of 205 devices' },
    ),
    'desktop beta 2.5.0-beta.1 paused by its plan: stuck: 30 of 205 devices.',
  ],
  [
    event('release.resumed', served, { actor: 'admin-token' }),
    'desktop beta 2.5.0-beta.1 published again at 10 % by the operator.',
  ],
  [
    event('release.rolled_back', { status: 'rolled_back' }),
    'desktop beta 2.5.0-beta.1 rolled back by key CI.',
  ],
  [
    event('release.deprecated', { status: 'deprecated' }),
    'desktop beta 2.5.0-beta.1 deprecated by key CI.',
  ],
  [
    event('release.retargeted', { ...served, targets: null }),
    'desktop beta 2.5.0-beta.1 offered to other devices by key CI.',
  ],
  [
    event('release.withdrawn', served, { actor: 'integration:github' }),
    'desktop beta 2.5.0-beta.1 withdrawn by the webhook of GitHub.',
  ],
  [
    event('release.promoted', { ...served, from: 'alpha' }),
    'desktop beta 2.5.0-beta.1 promoted from alpha at 10 % by key CI.',
  ],
  [
    event('plan.started', { plan }),
    'desktop beta 2.5.0-beta.1 goes out by a plan of 3 steps by key CI.',
  ],
  [
    event('plan.step', { plan }),
    'desktop beta 2.5.0-beta.1 is at 25 %: step 2 of 3 of its plan began.',
  ],
  [
    event('plan.waiting', {
      plan,
      waitingFor: { guard: 'stuck', since: '', reason: 'stuck: 3 devices' },
    }),
    'desktop beta 2.5.0-beta.1 waits with its next step: stuck: 3 devices.',
  ],
  [
    event('plan.tripped', { plan, guards }),
    'desktop beta 2.5.0-beta.1 stopped by its guard: ' +
      'stuck 14.6 % of 205 devices (limit 2.5 %), Windows 39.5 %.',
  ],
  [
    event('plan.held', { plan }, byAnn),
    'desktop beta 2.5.0-beta.1 goes no further: its plan was held by ann@example.com.',
  ],
  [event('plan.completed', { plan }), 'desktop beta 2.5.0-beta.1 completed its plan.'],
  [
    event('plan.cancelled', { plan }),
    'desktop beta 2.5.0-beta.1 goes on without its plan, which was cancelled by key CI.',
  ],
  [
    event('edge.refused', { edge: { id: 'edt_1', name: 'Oslo', prefix: 'sle_ab' } }, nowhere),
    'Edge Oslo (sle_ab…) was refused: its token is revoked.',
  ],
  [
    event('key.created', { key }, { ...nowhere, ...byAnn }),
    'Key CI (slk_ab…) created by ann@example.com.',
  ],
  [
    event('key.revoked', { key }, { ...nowhere, ...byAnn }),
    'Key CI (slk_ab…) revoked by ann@example.com.',
  ],
  [
    event('member.changed', { member }, { ...nowhere, actor: 'admin-token' }),
    'ann@example.com is now owner of Acme, was viewer, changed by the operator.',
  ],
  [
    event('approval.requested', { approval }, { reason: 'Hotfix' }),
    'desktop beta 2.5.0-beta.1: publish waits for an approval, asked for by key CI: Hotfix.',
  ],
  [
    event('approval.approved', { approval: decided }),
    'desktop beta 2.5.0-beta.1: publish was approved by ann@example.com.',
  ],
  [
    event('approval.declined', { approval: decided }, { reason: 'Too late' }),
    'desktop beta 2.5.0-beta.1: publish was declined by ann@example.com: Too late.',
  ],
  [
    event('approval.expired', { approval }),
    'desktop beta 2.5.0-beta.1: publish was not approved in time.',
  ],
  [
    event('approval.failed', { approval: decided }, { reason: 'The release was paused since' }),
    'desktop beta 2.5.0-beta.1: publish was approved and could not be done: The release was paused since.',
  ],
  [
    event('destination.disabled', { destination }, { ...nowhere, reason: 'It answered 410' }),
    'Notifications to Ops (webhook) are switched off: It answered 410.',
  ],
  [
    event('test', { destination }, { ...nowhere, ...byAnn }),
    'This is a test of Ops, sent by ann@example.com.',
  ],
];

/** Returns an event of a type with other parts of its data. */
export function eventWith(type: NotificationEvent['type'], parts: object): NotificationEvent {
  const found = EVENTS.find(([known]) => known.type === type)?.[0];
  if (found === undefined) throw new Error(`no event ${type}`);
  return { ...found, data: { ...found.data, ...parts } } as NotificationEvent;
}
