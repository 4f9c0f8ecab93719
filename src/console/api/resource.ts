// What the console API answers, in the order of its endpoints.

import type {
  Artifact,
  ChannelUpdateMode,
  Organization,
  Release,
  ReleaseStatus,
  Targeting,
  UpdateManifest,
} from '../../contract/resource.ts';

export type Role = 'owner' | 'publisher' | 'viewer';
export type Account = { readonly id: string; readonly email: string; readonly name: string };
export type Membership = { readonly organization: Organization; readonly role: Role };
export type Session = {
  /** `setup` until the first account exists. */
  readonly state: 'setup' | 'signedOut' | 'signedIn';
  readonly account?: Account;
  readonly memberships?: readonly Membership[];
};

export type InvitationOffer = {
  readonly organization: Organization;
  readonly role: Role;
  readonly email: string;
};

export type Member = { readonly account: Account; readonly role: Role; readonly since: string };
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: string;
  readonly createdBy: string;
};
export type Members = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

export type Key = {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
};

export type AuditRecord = {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
};
export type AuditPage = {
  readonly entries: readonly AuditRecord[];
  readonly next: string | null;
};

export type Delivery = {
  readonly at: string;
  readonly event: string;
  readonly action: string | null;
  readonly guid: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly version: string | null;
};
export type Webhook = {
  readonly enabled: boolean;
  readonly provider?: string;
  readonly url?: string;
  readonly createdAt?: string;
  readonly deliveries?: readonly Delivery[];
};

export type ChannelSummary = {
  readonly name: string;
  readonly releases: number;
  readonly newest: Pick<Release, 'version' | 'status' | 'rolloutPct' | 'createdAt'> | null;
  readonly rolling: readonly Pick<Release, 'version' | 'rolloutPct'>[];
};
export type AppSummary = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly devicesDay: number;
  readonly channels: readonly ChannelSummary[];
};

export type ChannelDetails = {
  readonly app: string;
  readonly name: string;
  readonly minimumSupportedVersion: string | null;
  readonly defaultRollout: number;
  readonly updateMode: ChannelUpdateMode;
  readonly devices: number;
  readonly devicesDay: number;
};

/** What both the list and the release's own page say of it. */
type ReleaseHead = {
  readonly id: string;
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  /** Whether a device was offered it: from then on it only widens. */
  readonly offered: boolean;
  readonly createdAt: string;
};
export type ReleaseRow = ReleaseHead & {
  readonly artifacts: number;
  /** How many devices run it. */
  readonly devices: number;
};
export type ReleasePage = {
  readonly releases: readonly ReleaseRow[];
  readonly page: number;
  readonly pageCount: number;
  readonly total: number;
  /** Devices on the channel. */
  readonly fleet: number;
};
export type ReleaseDetails = {
  readonly release: ReleaseHead & {
    readonly notes: string;
    /** Rendered and sanitised by the service. */
    readonly notesHtml: string;
    readonly artifacts: readonly Artifact[];
    readonly source?: string | null;
  };
  readonly devices: {
    readonly on: number;
    readonly offered: number;
    readonly below: number;
    readonly fleet: number;
  };
  readonly history: readonly AuditRecord[];
  readonly rollback: { readonly devices: number; readonly to: string | null };
};

export type LabelKey = {
  readonly key: string;
  readonly values: readonly { readonly value: string; readonly devices: number }[];
};
export type FleetLabels = { readonly keys: readonly LabelKey[]; readonly sampled: boolean };

export type FleetCell = {
  readonly channel: string;
  readonly version: string;
  readonly platform: string;
  readonly devices: number;
};
export type FleetNow = {
  readonly cells: readonly FleetCell[];
  readonly now: number;
  readonly day: number;
  readonly week: number;
};

export type AdoptionStep = 'hour' | 'day' | 'month';
export type AdoptionPoint = {
  readonly at: string;
  /** Empty where it is not known. */
  readonly version: string;
  readonly devices: number;
};

export type Device = {
  readonly deviceId: string;
  readonly version: string | null;
  readonly platform: string;
  readonly arch: string | null;
  readonly channel: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly source: 'pull' | 'push';
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly lastOffered: { readonly version: string; readonly at: string } | null;
};
export type DevicePage = { readonly devices: readonly Device[]; readonly next: string | null };
export type DeviceDetails = Device & {
  readonly history: readonly {
    readonly at: string;
    readonly from: string | null;
    readonly to: string;
  }[];
};

export type Candidate = {
  readonly version: string;
  readonly verdict: string;
  readonly detail: string;
  readonly bucket?: number;
  readonly threshold?: number;
};
export type DecisionDetails = {
  readonly offer: UpdateManifest | null;
  readonly reason: string;
  readonly candidates: readonly Candidate[];
  readonly current: { readonly version: string | null; readonly status: ReleaseStatus | null };
};

/** One second of check-ins: how many there were, and some of them. */
export type LiveActivity = {
  readonly count: number;
  readonly samples: readonly LiveSample[];
};
export type LiveSample = {
  readonly at: number;
  readonly deviceId: string;
  readonly channel: string;
  readonly version?: string;
  readonly platform: string;
  readonly source: 'pull' | 'push';
  readonly isOffered: boolean;
};
