// Notifications: the types of events that an organization gets, the facts of each, and the destinations that
// they are sent to (docs/contract.md 30).

import type {
  Approval,
  ApprovalRequest,
  Organization,
  ReleaseStatus,
  Role,
  Targeting,
} from './resource.ts';
import type { PlanStatus, PlanWait, Signal, SignalRate } from './rollout-plan.ts';
import { pathSegment } from './text.ts';

/**
 * Types of all events. A new one needs a line here, one in `EventFacts` for its facts, one in `SENTENCES` of
 * words/event-sentence.ts, and whatever adds it: a line in `EVENTS` of the audit, or a call of `addEvents`.
 */
export const EVENT_TYPES = [
  'release.published',
  'release.raised',
  'release.paused',
  'release.resumed',
  'release.rolled_back',
  'release.deprecated',
  'release.retargeted',
  'release.withdrawn',
  'release.promoted',
  'plan.started',
  'plan.step',
  'plan.waiting',
  'plan.tripped',
  'plan.held',
  'plan.completed',
  'plan.cancelled',
  'edge.refused',
  'key.created',
  'key.revoked',
  'member.changed',
  'approval.requested',
  'approval.approved',
  'approval.declined',
  'approval.expired',
  'approval.failed',
  'destination.disabled',
  'test',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

type Group<Type extends string> = Type extends `${infer Name}.${string}` ? Name : never;
type EventGroup = Group<EventType>;

/** Events that a destination asks for: those of one type, or of all types of a group. */
export type EventFilter = EventType | `${EventGroup}.*`;

/** All filters, the groups first. */
export const EVENT_FILTERS: readonly EventFilter[] = [
  ...new Set(EVENT_TYPES.flatMap((type) => groupOf(type) ?? [])),
  ...EVENT_TYPES,
];

function groupOf(type: EventType): EventFilter | undefined {
  const dot = type.indexOf('.');
  return dot === -1 ? undefined : (`${type.slice(0, dot)}.*` as EventFilter);
}

/** Facts of every event; `app`, `channel` and `version` are null if the event concerns none. */
export type EventPlace = {
  /** Ref of the app. */
  readonly app: string | null;
  readonly channel: string | null;
  readonly version: string | null;
  /** Author, as in the audit log. */
  readonly actor: string;
  /** Reason that the author or the plan gave; null if none. */
  readonly reason: string | null;
};

/** How the release is served now; a field is absent if the cause of the event does not concern it. */
export type ServedFacts = {
  readonly status: ReleaseStatus;
  readonly rollout?: number;
  /** Rollout before the change. */
  readonly rolloutBefore?: number;
  readonly targets?: Targeting | null;
  /** Id of the stop that paused it, or whose end published it again. */
  readonly stop?: string;
  /** Number of releases that the stop, or its end, changed; only in the one event of more than 100. */
  readonly releases?: number;
};

export type PlanFacts = {
  readonly plan: {
    readonly id: string;
    readonly status: PlanStatus;
    /** Number of the present step, from 1; null before the first. */
    readonly step: number | null;
    readonly steps: number;
    /** Rollout of the present step; null before the first. */
    readonly rollout: number | null;
  };
};

/** Guard of a plan with the present rate of its signal. */
export type GuardFacts = Pick<
  SignalRate,
  'base' | 'percent' | 'low' | 'high' | 'tripped' | 'network'
> & {
  readonly guard: Signal;
  /** Devices of `base` that show the signal. */
  readonly count: number;
  readonly limit: number;
  /** Platform that shows the signal most; null if none stands out, or platforms were not compared. */
  readonly platform: GuardPlatform | null;
};

/** Among the examined devices: those of a platform that show a signal, and those that could (`base`). */
export type GuardPlatform = {
  readonly name: string;
  readonly devices: number;
  readonly base: number;
  /** Rounded to one decimal. */
  readonly percent: number;
};

type KeyFacts = {
  readonly key: { readonly id: string; readonly name: string; readonly prefix: string };
};

/** Fields of an approval that a message needs. */
type ApprovalFacts = {
  readonly approval: Pick<Approval, 'id' | 'status' | 'requestedBy' | 'decidedBy'> &
    Pick<ApprovalRequest, 'operation'>;
};

type DestinationFacts = {
  readonly destination: Pick<Destination, 'id' | 'kind' | 'name'>;
};

/** Facts of each event beside those of `EventPlace`. */
type EventFacts = {
  readonly 'release.published': ServedFacts;
  readonly 'release.raised': ServedFacts;
  readonly 'release.paused': ServedFacts;
  readonly 'release.resumed': ServedFacts;
  readonly 'release.rolled_back': ServedFacts;
  readonly 'release.deprecated': ServedFacts;
  readonly 'release.retargeted': ServedFacts;
  readonly 'release.withdrawn': ServedFacts;
  /** `from` is the channel that the release was promoted from. */
  readonly 'release.promoted': ServedFacts & { readonly from: string };
  readonly 'plan.started': PlanFacts;
  readonly 'plan.step': PlanFacts;
  readonly 'plan.waiting': PlanFacts & { readonly waitingFor: PlanWait };
  /** The guards of the plan; at least one is `tripped`. */
  readonly 'plan.tripped': PlanFacts & { readonly guards: readonly GuardFacts[] };
  /** The guards of the plan, if it is held because one cannot judge without a single network's devices. */
  readonly 'plan.held': PlanFacts & { readonly guards?: readonly GuardFacts[] };
  readonly 'plan.completed': PlanFacts;
  readonly 'plan.cancelled': PlanFacts;
  readonly 'edge.refused': {
    readonly edge: { readonly id: string; readonly name: string; readonly prefix: string };
  };
  readonly 'key.created': KeyFacts;
  readonly 'key.revoked': KeyFacts;
  /** Roles before and after the change; null if the person was, or is, no member. */
  readonly 'member.changed': {
    readonly member: {
      readonly email: string;
      readonly roleBefore: Role | null;
      readonly role: Role | null;
    };
  };
  readonly 'approval.requested': ApprovalFacts;
  readonly 'approval.approved': ApprovalFacts;
  readonly 'approval.declined': ApprovalFacts;
  readonly 'approval.expired': ApprovalFacts;
  readonly 'approval.failed': ApprovalFacts;
  readonly 'destination.disabled': DestinationFacts;
  readonly test: DestinationFacts;
};

/** Event as a change makes it: its type, facts and reason, without id, time and `EventPlace`. */
export type NewEvent = {
  readonly [Type in EventType]: {
    readonly type: Type;
    readonly facts: EventFacts[Type];
    /** Reason that the plan gives; undefined if only the author of the change can have given one. */
    readonly reason?: string | null;
  };
}[EventType];

/** Event as the ledger stores it; a message adds the `url` of its console page to `data`. */
export type NotificationEvent = {
  readonly [Type in EventType]: {
    /** Id, the same at every try and for every destination. */
    readonly id: string;
    readonly type: Type;
    /** RFC 3339. */
    readonly timestamp: string;
    readonly data: { readonly organization: Organization } & EventPlace & EventFacts[Type];
  };
}[EventType];

/**
 * Returns the path of the console's page about an event: that of its approval, or of its release, channel or
 * app, else a page of the settings.
 */
export function eventPath({ data, type }: NotificationEvent): string {
  const { app, channel, version } = data;
  if ('approval' in data) return `/console/approvals/${pathSegment(data.approval.id)}`;
  if (app !== null) {
    const parts = [app, channel, version].filter((part) => part !== null);
    return `/console/apps/${parts.map(pathSegment).join('/')}`;
  }
  if (type.startsWith('key.')) return '/console/settings/keys';
  if (type.startsWith('member.')) return '/console/settings/members';
  return '/console/settings/notifications';
}

export const DESTINATION_KINDS = ['webhook', 'slack', 'mail'] as const;
export type DestinationKind = (typeof DESTINATION_KINDS)[number];

/**
 * State of a recipient of mails. Mails go to members, and to addresses that have confirmed their link; none
 * go to an address whose link is unanswered, expired or declined, nor to a former member (`stranger`).
 */
export type MailRecipient =
  | 'member'
  | 'confirmed'
  | 'waiting'
  | 'expired'
  | 'declined'
  | 'stranger';

/** Notifications by mail that the holder of a link may confirm. */
export type OfferedMail = {
  readonly organization: Organization;
  readonly to: string;
  readonly isConfirmed: boolean;
};

/** Place to which an organization's events are sent; only `IssuedDestination` has its secret. */
export type Destination = {
  readonly id: string;
  readonly name: string;
  readonly kind: DestinationKind;
  /** URL of a webhook or of Slack; null for mail. */
  readonly url: string | null;
  /** Address of the recipient of mails; null for other kinds. */
  readonly to: string | null;
  /** Whether `to` gets mails, or why not; null for other kinds. */
  readonly recipient: MailRecipient | null;
  /** Null for all events. */
  readonly events: readonly EventFilter[] | null;
  /** Refs of the apps whose events it gets; null for all. */
  readonly apps: readonly string[] | null;
  readonly enabled: boolean;
  /** Why the service disabled it; null if it did not. */
  readonly disabledWhy: string | null;
  /** Time since which every try has failed, RFC 3339; null while tries succeed. */
  readonly failingSince: string | null;
  readonly createdAt: string;
  readonly createdBy: string;
};

/** Destination, with the secret of a webhook if it is new: it is shown only in this answer. */
export type IssuedDestination = Destination & { readonly secret?: string };

export type DeliveryTry = {
  /** RFC 3339. */
  readonly at: string;
  /** HTTP status of the answer; null if there was none. */
  readonly status: number | null;
  /** What went wrong, in words for people; null if the try succeeded. */
  readonly error: string | null;
  readonly ms: number;
};

/** Message about an event to a destination, with its last tries, the oldest first. */
export type NotificationDelivery = {
  readonly id: string;
  /** Id of the event. */
  readonly event: string;
  readonly type: EventType;
  readonly state: 'waiting' | 'delivered' | 'failed' | 'dropped';
  /** Time of the next try, RFC 3339; null unless it waits. */
  readonly nextAt: string | null;
  readonly tries: readonly DeliveryTry[];
};
