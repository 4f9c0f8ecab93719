// Resources of the management API and the device endpoints (docs/contract.md 2 and 4, docs/console.md).

import type { Answer } from './answer-shape.ts';
import { DEVICE_CLIENTS, RELEASE_STATUSES } from './choice.ts';
import type { WebhookProvider } from './webhook-provider.ts';

export type ReleaseStatus = Release['status'];

/** Update mode that a channel sets; `required` follows from the device's version and is never set. */
export type ChannelUpdateMode = Channel['updateMode'];

/** Whether changes of a channel that widen exposure wait: for nobody, or for one other member. */
export type ApprovalMode = Channel['approvals'];
export type TargetOperator = TargetExpression['operator'];
export type TargetExpression = Answer<'TargetExpression'>;

/** Targeting of a release. Both parts must hold; an empty part holds for every device. */
export type Targeting = Answer<'Targeting'>;
export type Artifact = Answer<'Artifact'>;
export type Release = Answer<'Release'>;

/** An app's name, and when it was archived (RFC 3339); null while it is not. */
export type AppState = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly archivedAt: string | null;
};

/** Answer of the serving-control call. */
export type ServingState = Answer<'ServingState'>;

/** Withdrawn release, whose version is free again. */
export type WithdrawnRelease = Answer<'WithdrawnAnswer'>['release'];
export type App = Answer<'App'>;

export type Channel = ListedChannel & { readonly app: string };

/** Channel in a list that names its app. */
export type ListedChannel = Answer<'Channel'>;
export type UpdateManifest = Answer<'UpdateManifest'>;

export const ADOPTION_STEPS = ['hour', 'day', 'month'] as const;
/** Step between the points of an adoption chart, in UTC. */
export type AdoptionStep = (typeof ADOPTION_STEPS)[number];

export type Organization = {
  readonly id: string;
  readonly name: string;
  /** Whether its members must show a second factor; absent if not. */
  readonly requireSecondFactor?: true;
};

/** Role of a member in an organization; each role includes the rights of the roles after it. */
export const ROLES = ['owner', 'publisher', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export type Account = { readonly id: string; readonly email: string; readonly name: string };

export type Membership = {
  readonly organization: Organization;
  readonly role: Role;
  /** Whether this session has no rights there, because it lacks a second factor; absent if not. */
  readonly needsSecondFactor?: true;
};

export type Member = { readonly account: Account; readonly role: Role; readonly since: string };

/** How a session was opened. */
export type SessionOpener = 'password' | 'oidc' | 'passkey';

/** Open session of a person, as its list shows it. */
export type ListedSession = {
  readonly id: string;
  /** Short words for the browser, and the address, at the sign-in; null if a former version opened it. */
  readonly browser: string | null;
  readonly address: string | null;
  readonly createdAt: string;
  /** Lags by up to a minute. */
  readonly lastUsedAt: string;
  readonly openedBy: SessionOpener;
  /** Whether a passkey was shown. */
  readonly secondFactor: boolean;
  /** Whether it is the session that asks. */
  readonly current: boolean;
};

/** Passkey of a person. */
export type Passkey = {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Time of the last sign-in with it; null before the first. */
  readonly lastUsedAt: string | null;
};

/** Invitation that is neither used, revoked nor expired. */
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: string;
  /** Actor, as in the audit log. */
  readonly createdBy: string;
};

/** API key with its history, for the console. */
export type ListedKey = ApiKey & {
  readonly createdAt: string;
  /** Actor that created the key, as in the audit log; null for a key older than this field. */
  readonly createdBy: string | null;
  /** Refs of the apps that it may name; null for all of the organization. */
  readonly apps: readonly string[] | null;
  readonly may: readonly KeyRight[];
  /** End of its validity; null if it has none. */
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  /** IP address of its last use. */
  readonly lastUsedFrom: string | null;
  readonly revokedAt: string | null;
};

/** Rights of keys; one that is not narrowed has all of them. */
export const KEY_RIGHTS = ['read', 'publish', 'control', 'fleet'] as const;

export type KeyRight = (typeof KEY_RIGHTS)[number];

/** API key without its secret, which is shown only when the key is created. */
export type ApiKey = { readonly id: string; readonly name: string; readonly prefix: string };

/** What a change of a release's serving did, as the audit is searched for it. */
export const AUDIT_DEEDS = [...RELEASE_STATUSES, 'raised', 'lowered', 'retargeted'] as const;
export type AuditDeed = (typeof AUDIT_DEEDS)[number];

export type AuditEntry = {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  /** Request that made the change (`X-Request-Id`); null if unknown. */
  readonly requestId: string | null;
  /** Reason that the author gave; null if none. */
  readonly reason: string | null;
};

/** How an app receives releases from a code host. */
export type WebhookSettings = {
  /** Prefix of the tags of the app's releases; null for only those that are always accepted. */
  readonly tagPrefix: string | null;
  /** Whether new releases are paused, and take files until they are first published. */
  readonly hold: boolean;
  /** Targets (`linux`, `linux/x86_64`) with which a held release publishes itself; null for never. */
  readonly expect: readonly string[] | null;
};

/** Release webhook of an app without its secret, which is shown only when the webhook is enabled. */
export type Webhook = WebhookSettings & {
  readonly provider: WebhookProvider;
  readonly enabled: boolean;
  readonly createdAt: string;
  /** Full name of the repository whose releases it takes; null until the first delivery names one. */
  readonly repository: string | null;
  /** Other repository whose deliveries were ignored last, since the webhook got its secret; null for none. */
  readonly otherRepository: { readonly name: string; readonly at: string } | null;
};

/** Outcome of one verified delivery of a webhook. */
export type WebhookDelivery = {
  readonly id: string;
  readonly at: string;
  readonly provider: WebhookProvider;
  /** Event name of the provider, e.g. `release`. */
  readonly event: string;
  readonly action: string | null;
  /** Delivery id of the provider; a redelivery has the same id. */
  readonly guid: string | null;
  readonly outcome: 'created' | 'duplicate' | 'ignored' | 'refused';
  readonly reason: string | null;
  readonly version: string | null;
};

// Clients of devices. A device's record has the last one, because clients differ in what they can install.

/** The updater's protocol, or an orchestrator in the device's place (`push`). */
export type DeviceClient = (typeof DEVICE_CLIENTS)[number];

/** Returns whether a text is the name of a client. */
export function isDeviceClient(text: unknown): text is DeviceClient {
  return (DEVICE_CLIENTS as readonly unknown[]).includes(text);
}

// Stops: all that an app, or one channel of it, has published is paused at once, and goes on at once.

/** Release that a stop has paused. */
export type StoppedRelease = Stop['releases'][number];

/** Stop, with the releases that it has paused: by channel, the oldest first. */
export type Stop = Answer<'StopAnswer'>['stop'];

/** What became of the releases of a stop that was resumed. */
export type ResumedStop = Answer<'ResumedStop'>;

/** What a stop would reach now: published releases, and the devices on their channels. */
export type StopReach = { readonly releases: number; readonly devices: number };

// Approvals: changes that widen exposure on a channel that asks for a second person, until that person
// decides (docs/contract.md 33).

export type ApprovalStatus = Approval['status'];
export type AskedOperation = ApprovalRequest['operation'];

/** A call that waits. */
export type ApprovalRequest = Approval['request'];
export type Approval = Answer<'Approval'>;

/** Approval without the address of its page, which only the service knows. */
export type StoredApproval = Omit<Approval, 'url'>;
export type ApprovalPage = Answer<'ApprovalPage'>;
