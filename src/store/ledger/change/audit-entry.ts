// Entries of the audit, and what is told of each: so that the audit and the messages come from one place.

import type { Approval, ApprovalRequest } from '../../../contract/approval.ts';
import type { EventType, Told } from '../../../contract/notification.ts';
import type { ReleaseStatus, Role } from '../../../contract/resource.ts';
import {
  type ServedState,
  servedFacts,
  servingEvents,
} from '../../../domain/release/serving-events.ts';
import type { Actor } from '../../ledger-terms.ts';
import type { ChangedPlace } from './outbox.ts';

export type AuditAction =
  | 'organization.create'
  | 'organization.update'
  | 'member.join'
  | 'member.update'
  | 'member.remove'
  | 'invitation.create'
  | 'invitation.revoke'
  | 'app.create'
  | 'app.update'
  | 'approval.approve'
  | 'approval.decline'
  | 'approval.expire'
  | 'approval.fail'
  | 'approval.request'
  | 'channel.create'
  | 'channel.update'
  | 'destination.create'
  | 'destination.disable'
  | 'destination.remove'
  | 'destination.rotate'
  | 'destination.link'
  | 'destination.confirm'
  | 'destination.decline'
  | 'destination.update'
  | 'device.erase'
  | 'device.purge'
  | 'key.create'
  | 'key.revoke'
  | 'plan.advance'
  | 'plan.cancel'
  | 'plan.complete'
  | 'plan.create'
  | 'plan.hold'
  | 'plan.resume'
  | 'plan.start'
  | 'release.publish'
  | 'release.promote'
  | 'release.complete'
  | 'release.serve'
  | 'release.withdraw'
  | 'webhook.enable'
  | 'webhook.update'
  | 'webhook.disable';

export type NewAuditEntry = {
  readonly organizationId: string;
  readonly action: AuditAction;
  /** Name of the changed object, e.g. `app-ref/stable@1.2.0`. */
  readonly subject: string;
  /** State before the change; null if the subject did not exist. */
  readonly before: object | null;
  /** State after the change; null if the subject no longer exists. */
  readonly after: object | null;
  /** Reason given by the author of the change. */
  readonly reason?: string | undefined;
  /** Release or channel that was changed; undefined for what belongs to the organization. */
  readonly place?: ChangedPlace | undefined;
  /** Whether a release that is published now never was before. */
  readonly isFirst?: boolean | undefined;
  /** Whether the change tells its events by itself. */
  readonly isTold?: boolean | undefined;
  /** What events say of the changed object beside `before` and `after`. */
  readonly also?: object | undefined;
};

type Entry = Pick<NewAuditEntry, 'action' | 'subject' | 'before' | 'after' | 'isFirst' | 'also'>;
type Tells = (entry: Entry, actor: Actor) => readonly Told[];

/** States as the entries of an action have them. */
type State = ServedState & {
  readonly from?: string;
  readonly name?: string;
  readonly prefix?: string;
  readonly role?: Role;
  readonly kind?: 'webhook' | 'slack' | 'mail';
  readonly enabled?: boolean;
};

/** State of an approval as its entries have it. */
type ApprovalState = Pick<Approval, 'status' | 'requestedBy'> &
  Pick<ApprovalRequest, 'operation'> & {
    readonly approval: string;
    readonly decidedBy?: string | null;
  };

/** An entry without a line tells nothing; plans tell more than their entries have (`planEvents`). */
const TELLS: Partial<Record<AuditAction, Tells>> = {
  'release.publish': ({ after }) => {
    const { status, ...served } = stateOf(after);
    if (status !== 'published') return [];
    return [{ type: 'release.published', facts: servedFacts(status, served) }];
  },
  'release.promote': ({ after }) => {
    const { status = 'published', from = '', ...served } = stateOf(after);
    return [{ type: 'release.promoted', facts: { ...servedFacts(status, served), from } }];
  },
  'release.serve': servedEvents,
  'release.complete': servedEvents,
  'release.withdraw': ({ before }) => {
    const { status = 'paused', ...served } = stateOf(before);
    return [{ type: 'release.withdrawn', facts: servedFacts(status, served) }];
  },
  'key.create': ({ subject, after }) => [
    { type: 'key.created', facts: keyFacts(subject, stateOf(after)) },
  ],
  'key.revoke': ({ subject, also = null }) => [
    { type: 'key.revoked', facts: keyFacts(subject, stateOf(also)) },
  ],
  'member.join': memberEvents,
  'member.update': memberEvents,
  'member.remove': memberEvents,
  'approval.request': approvalEvents('approval.requested'),
  'approval.approve': approvalEvents('approval.approved'),
  'approval.decline': approvalEvents('approval.declined'),
  'approval.expire': approvalEvents('approval.expired'),
  'approval.fail': approvalEvents('approval.failed'),
  'destination.update': disabledEvents,
  'destination.disable': disabledEvents,
};

/** Returns what is told of a change, in its order. */
export function eventsOf(entry: Entry, actor: Actor): readonly Told[] {
  return TELLS[entry.action]?.(entry, actor) ?? [];
}

function servedEvents({ before, after, isFirst = false }: Entry, actor: Actor): readonly Told[] {
  const isStep = actor.kind === 'plan';
  return servingEvents(stateOf(before), stateOf(after), { isFirst, isStep });
}

function keyFacts(id: string, { name = '', prefix = '' }: State) {
  return { key: { id, name, prefix } };
}

function memberEvents({ subject, before, after }: Entry): readonly Told[] {
  const roleBefore = stateOf(before).role ?? null;
  const role = stateOf(after).role ?? null;
  return [{ type: 'member.changed', facts: { member: { email: subject, roleBefore, role } } }];
}

/** Returns what tells an event about an approval. */
function approvalEvents(type: Extract<EventType, `approval.${string}`>): Tells {
  return ({ after }) => {
    const { approval: id, status, operation, requestedBy, decidedBy } = after as ApprovalState;
    const approval = { id, status, operation, requestedBy, decidedBy: decidedBy ?? null };
    return [{ type, facts: { approval } }];
  };
}

function disabledEvents({ subject, before, after }: Entry): readonly Told[] {
  const [was, is] = [stateOf(before), stateOf(after)];
  if (is.enabled !== false || was.enabled === false) return [];
  const { kind = 'webhook', name = '' } = is;
  return [{ type: 'destination.disabled', facts: { destination: { id: subject, kind, name } } }];
}

/** Reads the state of an entry, which the caller of this room wrote. */
function stateOf(state: object | null): State & { readonly status?: ReleaseStatus } {
  return state ?? {};
}
