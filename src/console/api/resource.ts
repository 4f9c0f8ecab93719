// What the console API answers, in the order of its endpoints.

import type {
  Account,
  Artifact,
  AuditEntry,
  ChannelUpdateMode,
  Invitation,
  Member,
  Membership,
  Organization,
  Release,
  ReleaseStatus,
  Role,
  Targeting,
  UpdateManifest,
  WebhookDelivery,
} from '../../contract/resource.ts';

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

export type Members = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

export type AuditPage = {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
};

export type WebhookDetails = {
  readonly enabled: boolean;
  readonly url?: string;
  readonly createdAt?: string;
  readonly deliveries?: readonly WebhookDelivery[];
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
    readonly source: 'api' | 'webhook';
  };
  readonly devices: {
    readonly on: number;
    readonly offered: number;
    readonly offeredIsEstimate: boolean;
    readonly below: number;
    readonly fleet: number;
  };
  readonly history: readonly AuditEntry[];
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
  readonly total: number;
  readonly now: number;
  readonly day: number;
  readonly week: number;
  /** Whether the last three are estimates. */
  readonly isEstimate: boolean;
};

export type AdoptionPoint = {
  readonly at: string;
  /** Null for all those that are not told apart, empty where it is not known. */
  readonly version: string | null;
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
  /** From the first that was looked at on; of many, only some and the last. */
  readonly candidates: readonly Candidate[];
  /** How many there were. */
  readonly considered: number;
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
