// The shapes that cross the service's border, as the contract writes them (sections 2 and 4).

export const RELEASE_STATUSES = ['published', 'paused', 'rolled_back', 'deprecated'] as const;
export type ReleaseStatus = (typeof RELEASE_STATUSES)[number];

export const UPDATE_MODES = ['optional', 'recommended'] as const;
/** What a channel asks of its devices; `required` is never set, it follows from the device. */
export type ChannelUpdateMode = (typeof UPDATE_MODES)[number];

export const TARGET_OPERATORS = [
  'In',
  'NotIn',
  'Exists',
  'DoesNotExist',
  'VersionGte',
  'VersionLt',
] as const;
export type TargetOperator = (typeof TARGET_OPERATORS)[number];

export type TargetExpression = {
  readonly key: string;
  readonly operator: TargetOperator;
  readonly values: readonly string[];
};

/** Which devices a release is for. Both parts must hold; an empty part holds for every device. */
export type Targeting = {
  readonly matchLabels: Readonly<Record<string, readonly string[]>>;
  readonly matchExpressions: readonly TargetExpression[];
};

export type Artifact = {
  readonly platform: string;
  readonly arch?: string;
  readonly url?: string;
  readonly sha512?: string;
  /** Bytes. */
  readonly size?: number;
  readonly signature?: string;
};

export type Release = {
  readonly id: string;
  readonly app: string;
  readonly channel: string;
  readonly version: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string;
  readonly artifacts: readonly Artifact[];
};

/** What the serving-control call answers. */
export type ServingState = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
  readonly rolloutPct: number;
  readonly status: ReleaseStatus;
  readonly targets: Targeting | null;
};

export type App = {
  readonly id: string;
  readonly name: string;
  readonly ref: string;
  readonly channels: readonly string[];
};

export type Channel = {
  readonly app: string;
  readonly name: string;
  readonly minimumSupportedVersion: string | null;
  readonly defaultRollout: number;
  readonly updateMode: ChannelUpdateMode;
};

export type UpdateManifest = {
  readonly version: string;
  readonly notes: string;
  readonly pub_date: string;
  readonly url?: string;
  readonly sha512?: string;
  readonly signature?: string;
  readonly size?: number;
  readonly updateMode: ChannelUpdateMode | 'required';
  readonly minimumSupportedVersion?: string;
  readonly allowDowngrade?: true;
};

export const ADOPTION_STEPS = ['hour', 'day', 'month'] as const;
/** How far apart the points of an adoption chart are, in UTC. */
export type AdoptionStep = (typeof ADOPTION_STEPS)[number];

export type Organization = { readonly id: string; readonly name: string };

/** What a person may do in an organization: each role may do what the ones after it may. */
export const ROLES = ['owner', 'publisher', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export type Account = { readonly id: string; readonly email: string; readonly name: string };

export type Membership = { readonly organization: Organization; readonly role: Role };

export type Member = { readonly account: Account; readonly role: Role; readonly since: string };

/** An invitation that is neither used, revoked nor expired. */
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: string;
  /** As the audit spells it. */
  readonly createdBy: string;
};

/** A key with its history, as the console lists it. */
export type ListedKey = ApiKey & {
  readonly createdAt: string;
  /** As the audit spells it; null for a key that is older than this record. */
  readonly createdBy: string | null;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
};

/** A key as it may be shown at any time; its secret is shown once, when it is made. */
export type ApiKey = { readonly id: string; readonly name: string; readonly prefix: string };

export type AuditEntry = {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
};

/** An app's release webhook as it may be shown at any time; its secret is shown once, when it is enabled. */
export type Webhook = {
  readonly provider: 'github';
  readonly enabled: boolean;
  readonly createdAt: string;
};

/** What became of one verified delivery of a webhook. */
export type WebhookDelivery = {
  readonly id: string;
  readonly at: string;
  /** As the provider names it, e.g. `release`. */
  readonly event: string;
  readonly action: string | null;
  /** The provider's id of the delivery; a redelivery has the same. */
  readonly guid: string | null;
  readonly outcome: 'created' | 'duplicate' | 'ignored' | 'refused';
  readonly reason: string | null;
  readonly version: string | null;
};
