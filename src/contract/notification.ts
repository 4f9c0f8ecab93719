// Notifications: the events that an organization is told, what each says, and the destinations that take them
// (docs/contract.md 30).

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
 * Everything that is told. A new event is one line here, one in `EventFacts` for its facts, and one in
 * `SENTENCES` of words/event-sentence.ts for what it says.
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

/** What a destination asks for: an event, or all of a group. */
export type EventFilter = EventType | `${EventGroup}.*`;

/** Every filter, the groups first. */
export const EVENT_FILTERS: readonly EventFilter[] = [
  ...new Set(EVENT_TYPES.flatMap((type) => groupOf(type) ?? [])),
  ...EVENT_TYPES,
];

function groupOf(type: EventType): EventFilter | undefined {
  const dot = type.indexOf('.');
  return dot === -1 ? undefined : (`${type.slice(0, dot)}.*` as EventFilter);
}

/** What every event says; null where it concerns none. */
export type EventPlace = {
  /** Ref of the app. */
  readonly app: string | null;
  readonly channel: string | null;
  readonly version: string | null;
  /** Author, as in the audit log. */
  readonly actor: string;
  /** Reason that the author gave, or that a plan has. */
  readonly reason: string | null;
};

/** How the release is served now; a field is undefined where the cause does not tell it. */
export type ServedFacts = {
  readonly status: ReleaseStatus;
  readonly rollout?: number;
  /** Rollout before the change. */
  readonly rolloutBefore?: number;
  readonly targets?: Targeting | null;
  /** Stop that paused it, or whose end published it again. */
  readonly stop?: string;
  /** Number of releases that the stop, or its end, set, where they are too many to be told one by one. */
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

/** Guard of a plan with its present figures. */
export type GuardFacts = Pick<
  SignalRate,
  'base' | 'percent' | 'low' | 'high' | 'tripped' | 'network'
> & {
  readonly guard: Signal;
  /** Devices of `base` that show it. */
  readonly count: number;
  readonly limit: number;
  /** Platform that shows it most; null where all show it alike, or nobody looked. */
  readonly platform: GuardPlatform | null;
};

/** Devices of a platform that show a signal, of those that could, among the examined ones. */
export type GuardPlatform = {
  readonly name: string;
  readonly devices: number;
  readonly base: number;
  /** With one decimal. */
  readonly percent: number;
};

type KeyFacts = {
  readonly key: { readonly id: string; readonly name: string; readonly prefix: string };
};

/** An approval, as far as a message needs it. */
type ApprovalFacts = {
  readonly approval: Pick<Approval, 'id' | 'status' | 'requestedBy' | 'decidedBy'> &
    Pick<ApprovalRequest, 'operation'>;
};

type DestinationFacts = {
  readonly destination: Pick<Destination, 'id' | 'kind' | 'name'>;
};

/** What each event says beside its place. */
type EventFacts = {
  readonly 'release.published': ServedFacts;
  readonly 'release.raised': ServedFacts;
  readonly 'release.paused': ServedFacts;
  readonly 'release.resumed': ServedFacts;
  readonly 'release.rolled_back': ServedFacts;
  readonly 'release.deprecated': ServedFacts;
  readonly 'release.retargeted': ServedFacts;
  readonly 'release.withdrawn': ServedFacts;
  /** `from` is the channel that it was promoted from. */
  readonly 'release.promoted': ServedFacts & { readonly from: string };
  readonly 'plan.started': PlanFacts;
  readonly 'plan.step': PlanFacts;
  readonly 'plan.waiting': PlanFacts & { readonly waitingFor: PlanWait };
  /** The guards of the plan; at least one is `tripped`. */
  readonly 'plan.tripped': PlanFacts & { readonly guards: readonly GuardFacts[] };
  /** The guards of the plan, where it is held for one that a network keeps from judging. */
  readonly 'plan.held': PlanFacts & { readonly guards?: readonly GuardFacts[] };
  readonly 'plan.completed': PlanFacts;
  readonly 'plan.cancelled': PlanFacts;
  readonly 'edge.refused': {
    readonly edge: { readonly id: string; readonly name: string; readonly prefix: string };
  };
  readonly 'key.created': KeyFacts;
  readonly 'key.revoked': KeyFacts;
  /** Roles before and after; null for no member. */
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

/** Event without its id, its time and its place: what has happened, and why. */
export type NewEvent = {
  readonly [Type in EventType]: {
    readonly type: Type;
    readonly facts: EventFacts[Type];
    /** Reason that a plan has for it; undefined where only its author may have given one. */
    readonly reason?: string | null;
  };
}[EventType];

/** Event as the ledger tells it; a message adds the `url` of its page to `data`. */
export type NotificationEvent = {
  readonly [Type in EventType]: {
    /** Id that is the same at every try, and for every destination. */
    readonly id: string;
    readonly type: Type;
    /** RFC 3339. */
    readonly timestamp: string;
    readonly data: { readonly organization: Organization } & EventPlace & EventFacts[Type];
  };
}[EventType];

/**
 * Returns the path of the console's page about an event: the request's, the release's or the app's, else the
 * settings.
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
 * State of the recipient of mails: a member, or an address that has confirmed a link. No mails go to one
 * whose link waits for an answer, is over or was declined, nor to a former member (`stranger`).
 */
export type MailRecipient =
  | 'member'
  | 'confirmed'
  | 'waiting'
  | 'expired'
  | 'declined'
  | 'stranger';

/** Mails that a link offers to its holder. */
export type OfferedMail = {
  readonly organization: Organization;
  readonly to: string;
  readonly isConfirmed: boolean;
};

/** Place to which an organization's events are sent; its secret is shown once, when it is made. */
export type Destination = {
  readonly id: string;
  readonly name: string;
  readonly kind: DestinationKind;
  /** Address of a webhook; null for mail. */
  readonly url: string | null;
  /** Address of the mails; null otherwise. */
  readonly to: string | null;
  /** Whether `to` gets mails, and why not; null for a destination that is no mail. */
  readonly recipient: MailRecipient | null;
  /** Null for all. */
  readonly events: readonly EventFilter[] | null;
  /** Refs; null for all. */
  readonly apps: readonly string[] | null;
  readonly enabled: boolean;
  /** Why the service disabled it; null where it did not. */
  readonly disabledWhy: string | null;
  /** Time since which every try fails, RFC 3339; null while it works. */
  readonly failingSince: string | null;
  readonly createdAt: string;
  readonly createdBy: string;
};

/** Destination with the secret of a webhook where it is new, which is shown only once. */
export type IssuedDestination = Destination & { readonly secret?: string };

export type DeliveryTry = {
  /** RFC 3339. */
  readonly at: string;
  /** Status of the answer; null where there was none. */
  readonly status: number | null;
  /** What went wrong, for people; null where nothing did. */
  readonly error: string | null;
  readonly ms: number;
};

/** Message to a destination; the oldest of its last tries first. */
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
