// Resources of the management API and the device endpoints (docs/contract.md 2 and 4, docs/console.md).

import type { Answer } from './answer-shape.ts';
import type { WebhookProvider } from './choice.ts';
import { type DDI_AUTHS, DEVICE_CLIENTS, RELEASE_STATUSES } from './choice.ts';

export type ReleaseStatus = Release['status'];

/** Update mode that a channel can set; `required`, which follows from a device's version, is none of them. */
export type ChannelUpdateMode = Channel['updateMode'];

/** Approval that a change which widens a channel's exposure needs: none, or that of one other member. */
export type ApprovalMode = Channel['approvals'];
export type TargetOperator = TargetExpression['operator'];
export type TargetExpression = Answer<'TargetExpression'>;

/** Targeting of a release. A device must meet both parts; every device meets an empty part. */
export type Targeting = Answer<'Targeting'>;
export type Artifact = Answer<'Artifact'>;
export type Release = Answer<'Release'>;

/** Change of some settings; an undefined one stays as it is. */
export type ChangeOf<Settings> = {
  readonly [Name in keyof Settings]?: Settings[Name] | undefined;
};

/** An app with its settings. */
export type AppState = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  /** Time at which it was archived, RFC 3339; null while it is not. */
  readonly archivedAt: string | null;
  /** How devices that speak DDI authenticate; null until it is set, and never again. */
  readonly ddiAuth: DdiAuth | null;
};

/** Answer of the serving-control call. */
export type ServingState = Answer<'ServingState'>;

/** Withdrawn release, whose version may be published again. */
export type WithdrawnRelease = Answer<'WithdrawnAnswer'>['release'];
export type App = Answer<'App'>;

export type Channel = ListedChannel & { readonly app: string };

/** Channel in a list that belongs to one app. */
export type ListedChannel = Answer<'Channel'>;
export type UpdateManifest = Answer<'UpdateManifest'>;

export const ADOPTION_STEPS = ['hour', 'day', 'month'] as const;
/** Step between the points of an adoption chart, in UTC. */
export type AdoptionStep = (typeof ADOPTION_STEPS)[number];

export type Organization = {
  readonly id: string;
  readonly name: string;
  /** True if its members must sign in with a second factor; absent if not. */
  readonly requireSecondFactor?: true;
};

/** Role of a member in an organization; each role includes the rights of the roles after it. */
export const ROLES = ['owner', 'publisher', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export type Account = { readonly id: string; readonly email: string; readonly name: string };

export type Membership = {
  readonly organization: Organization;
  readonly role: Role;
  /** True if this session has no rights there, because it lacks a second factor; absent if not. */
  readonly needsSecondFactor?: true;
};

export type Member = { readonly account: Account; readonly role: Role; readonly since: string };

/** Way in which a person signed in to open a session. */
export type SessionOpener = 'password' | 'oidc' | 'passkey';

/** Open session of a person, in the list on the page of the account. */
export type ListedSession = {
  readonly id: string;
  /** Short name of the browser, and IP address, at the sign-in; null if an earlier version opened it. */
  readonly browser: string | null;
  readonly address: string | null;
  readonly createdAt: string;
  /** Time of the last request, up to a minute late. */
  readonly lastUsedAt: string;
  readonly openedBy: SessionOpener;
  /** Whether the person signed in with a passkey as well, or alone. */
  readonly secondFactor: boolean;
  /** Whether it is the session of this request. */
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

/** Open invitation: neither used, revoked nor expired. */
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
  /** Actor that created the key, as in the audit log; null for a key from before this field existed. */
  readonly createdBy: string | null;
  /** Refs of the apps in its scope; null for all of the organization. */
  readonly apps: readonly string[] | null;
  readonly may: readonly KeyRight[];
  /** End of its validity; null if it has none. */
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  /** IP address of its last use. */
  readonly lastUsedFrom: string | null;
  readonly revokedAt: string | null;
};

/**
 * Rights of keys; a key has all of them unless it was created with fewer, and so also a new one. The schema
 * has the list as well (`api_keys.may`): a new right needs a migration.
 */
export const KEY_RIGHTS = ['read', 'publish', 'control', 'fleet'] as const;

export type KeyRight = (typeof KEY_RIGHTS)[number];

/** API key without its secret, which is shown only when the key is created. */
export type ApiKey = { readonly id: string; readonly name: string; readonly prefix: string };

// Credentials of devices that speak DDI (docs/contract.md 34.42), without their secrets.

/** Token by which a gateway acts for every device of an app. */
export type GatewayToken = {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Author, as in the audit log. */
  readonly createdBy: string;
  readonly lastUsedAt: string | null;
  /** RFC 3339; null while it is valid. */
  readonly revokedAt: string | null;
};

/** New token; its text is shown only once. */
export type IssuedGatewayToken = GatewayToken & { readonly token: string };

/** Secret of an app that device tokens are made with; nobody sees the secret itself. */
export type DdiSecret = {
  readonly id: string;
  readonly createdAt: string;
  /** Author, as in the audit log. */
  readonly createdBy: string;
};

/** Token of one device, which it sends as `TargetToken`. */
export type DeviceToken = Answer<'DeviceTokens'>['tokens'][number];

/** Gateway tokens, revoked ones included, and secrets of an app, both newest first. */
export type DdiCredentialList = {
  readonly gatewayTokens: readonly GatewayToken[];
  readonly secrets: readonly DdiSecret[];
};

/** Kinds of serving changes that the audit log can be filtered by. */
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
  /** Prefix of the app's tags, beside those that every app accepts; null for only the latter. */
  readonly tagPrefix: string | null;
  /** Whether new releases are created paused, and accept files until they are first published. */
  readonly hold: boolean;
  /** Targets (`linux`, `linux/x86_64`): a held release with files for all is published; null for never. */
  readonly expect: readonly string[] | null;
};

/** Release webhook of an app without its secret, which is shown only when the webhook is enabled. */
export type Webhook = WebhookSettings & {
  readonly provider: WebhookProvider;
  readonly enabled: boolean;
  readonly createdAt: string;
  /** Full name of the repository that it accepts releases of; null until the first delivery names one. */
  readonly repository: string | null;
  /** Other repository whose delivery was ignored last, since the present secret exists; null for none. */
  readonly otherRepository: { readonly name: string; readonly at: string } | null;
};

/** One delivery of a webhook whose signature was valid, with its outcome. */
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

/** The protocol of the device's updater, or `push` if an orchestrator calls for the device. */
export type DeviceClient = (typeof DEVICE_CLIENTS)[number];

/** Returns whether a text is the name of a client. */
export function isDeviceClient(text: unknown): text is DeviceClient {
  return (DEVICE_CLIENTS as readonly unknown[]).includes(text);
}

// Stops: one call pauses all published releases of an app, or of one of its channels; another resumes them.

/** Release that a stop has paused. */
export type StoppedRelease = Stop['releases'][number];

/** Stop, with the releases that it has paused: by channel, the oldest first. */
export type Stop = Answer<'StopAnswer'>['stop'];

/** Releases of a resumed stop: those published again, and those whose status had been changed meanwhile. */
export type ResumedStop = Answer<'ResumedStop'>;

/** Numbers of published releases that a stop would pause now, and of devices on their channels. */
export type StopReach = { readonly releases: number; readonly devices: number };

// Approvals: on a channel that asks for them, a change that widens exposure is stored until a second person
// decides (docs/contract.md 33).

export type ApprovalStatus = Approval['status'];
export type AskedOperation = ApprovalRequest['operation'];

/** Stored call that waits for an approval. */
export type ApprovalRequest = Approval['request'];
export type Approval = Answer<'Approval'>;

/** Approval without the address of its page, which only the service knows. */
export type StoredApproval = Omit<Approval, 'url'>;
export type ApprovalPage = Answer<'ApprovalPage'>;

// DDI, the protocol of hawkBit's devices (docs/contract.md 34): how they authenticate to an app, and the
// settings of a channel that answers them.

/** How devices authenticate: by a token, or not at all. */
export type DdiAuth = (typeof DDI_AUTHS)[number];

/** Settings of a channel that answers DDI. */
export type DdiSettings = Answer<'DdiSettings'>;

/** Settings of a channel on which DDI is turned on, where the call leaves them out. */
export const DDI_DEFAULTS: DdiSettings = {
  pollSeconds: 300,
  platform: 'linux',
  arch: null,
  keys: { platform: 'platform', arch: 'arch', version: 'version', bundle: 'bundle' },
  unknownVersion: 'wait',
  retries: 2,
  retryAfterMinutes: 60,
  askDays: 7,
};
