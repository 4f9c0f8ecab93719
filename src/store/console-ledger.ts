// Terms of the ledger's calls for the console and for edges: keys, apps, channels and releases with device
// counts, webhooks, and edge tokens. None of these calls scans all devices.

import type { WebhookProvider } from '../contract/choice.ts';
import type { ChannelReleases, ListedRelease, Unjudged } from '../contract/console.ts';
import type {
  AuditDeed,
  ChangeOf,
  KeyRight,
  Release,
  ReleaseStatus,
  Webhook,
  WebhookDelivery,
  WebhookSettings,
} from '../contract/resource.ts';
import type { Announcement, LeftAlone, ReleaseHold } from '../domain/release/host/announcement.ts';
import type { Retraction } from '../domain/release/host/retraction.ts';
import type { ChannelName } from './engine.ts';
import type { NewArtifact, ReleaseName } from './ledger-terms.ts';

/** API key for authentication. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredKey = {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly secretHash: string;
  readonly revokedAt: string | null;
  /** Whether it has expired, by the ledger's clock. */
  readonly isOver: boolean;
  /** Ids of the apps that it may name; null for all apps of the organization. */
  readonly appIds: readonly string[] | null;
  /** Rights that it was created with; null for all. */
  readonly may: readonly KeyRight[] | null;
};

export type NewKey = KeyLimits & {
  readonly organizationId: string;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

/** Limits of a new key; an undefined one does not apply. */
export type KeyLimits = {
  /** Refs or ids of the only apps that it may name. */
  readonly apps?: readonly string[] | undefined;
  readonly may?: readonly KeyRight[] | undefined;
  /** Expiry, RFC 3339. */
  readonly expiresAt?: string | undefined;
};

/** Use of a key; `from` is the address of the client. */
export type KeyUse = { readonly id: string; readonly at: string; readonly from: string };

export type AuditFilter = {
  /** Text that the actor must contain, ignoring case. `subject` works the same way. */
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** Action, or the part before its dot, which matches all actions of that group. */
  readonly action?: string | undefined;
  /** Effect of a serving-control change: a status that the release got, or another kind of change. */
  readonly did?: AuditDeed | undefined;
  /** Times (RFC 3339): entries at or after `since`, and before `until`. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Cursor: `next` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
};

export type ReleaseFilter = {
  /** Counts from 1. */
  readonly page: number;
  readonly perPage: number;
  /** Prefix of the version. */
  readonly version?: string | undefined;
  readonly status?: ReleaseStatus | undefined;
};

/** Numbers of devices seen since each requested time, in the order of the request. */
export type SeenCounts = {
  readonly total: number;
  readonly seen: readonly number[];
  /** Whether `seen` was estimated from a sample. */
  readonly isEstimate: boolean;
};

/** Page of releases whose standings are not determined yet. */
export type UnjudgedReleases = Pick<ChannelReleases, 'total' | 'fleet'> & {
  readonly releases: readonly Unjudged<ListedRelease>[];
};

// Release webhooks: the integration of each app with a code host, and its last deliveries.

export type EnabledWebhook = {
  readonly appId: string;
  readonly provider: WebhookProvider;
  readonly appRef: string;
  readonly organizationId: string;
  /** Sealed secret as given to `enableWebhook`. */
  readonly sealedSecret: string;
  /** Time at which the webhook got this secret, as text; compare it for equality only. */
  readonly enabledAt: string;
  /** Repository whose releases it takes; null until the first delivery names one. */
  readonly repository: HostRepository | null;
} & WebhookSettings;

/** Repository on a code host. Its id stays when it is renamed or moved to another owner. */
export type HostRepository = {
  /** Null if the event that named the repository had no id. */
  readonly id: number | null;
  /** Owner and name, such as `acme/notes`. */
  readonly name: string;
};

export type SealedSecret = WebhookName & Pick<EnabledWebhook, 'sealedSecret'>;

/** App and code host; each pair has at most one webhook. */
export type WebhookName = Pick<EnabledWebhook, 'appId' | 'provider'>;

/** Cursor in the order of app and code host; any text, because callers send it. */
export type SecretPlace = { readonly appId: string; readonly provider: string };

export type WebhookChange = ChangeOf<WebhookSettings>;

/** Sealed secret of a webhook, and the same secret sealed again. */
export type ResealedSecret = WebhookName & {
  readonly from: string;
  readonly to: string;
};

/** Release that a code host's event announces for a channel. */
export type NewAnnouncement = Announcement<NewArtifact> & {
  readonly name: ReleaseName;
  readonly version: string;
  /** Returns what a new release waits for before it is first published; undefined if for nothing. */
  readonly holdOf: (artifacts: readonly NewArtifact[]) => ReleaseHold | undefined;
};

/** Effect of an announcement. */
export type Announced =
  | { readonly outcome: 'created'; readonly release: Release }
  | {
      readonly outcome: 'changed';
      readonly release: Release;
      readonly before: { readonly status: ReleaseStatus; readonly artifacts: number };
      readonly hasNewFiles: boolean;
      readonly hasNewNotes: boolean;
      /** Whether a release that was created again on the code host replaced the one before it. */
      readonly isMadeAnew: boolean;
      /** Whether its code host has retracted it, and it stays retracted. */
      readonly isRetracted: boolean;
    }
  | { readonly outcome: 'left'; readonly release: Release; readonly left: LeftAlone | undefined }
  /** No release: it was deleted or retracted (`over`), or the event is stored for later (`remembered`). */
  | { readonly outcome: 'over' | 'remembered' };

export type NewRetraction = Retraction & { readonly reason: string };

export type NewDelivery = Omit<WebhookDelivery, 'id' | 'at' | 'provider'>;

export type AppWebhooks = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

// What a service needs so that edges can follow it: their tokens, and the states of all channels.

/** Organization whose apps a token may read; null for all organizations. */
export type EdgeScope = string | null;

export type NewEdgeToken = {
  readonly organizationId: EdgeScope;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

/** Edge token for authentication. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredEdgeToken = {
  readonly id: string;
  readonly organizationId: EdgeScope;
  readonly secretHash: string;
  readonly isRevoked: boolean;
};

/** Channel with its organization and its present revision. */
export type ChannelState = ChannelName & {
  readonly organizationId: string;
  readonly revision: number;
};

/** States of channels at one moment. */
export type ChannelStates = {
  readonly epoch: number;
  /** Name of the record; null before the first node has used the database. */
  readonly record: string | null;
  /** Name of the time line that the epoch belongs to; null when none is stored. */
  readonly line: string | null;
  readonly channels: readonly ChannelState[];
  /** False when there are more channels than were asked for. */
  readonly isComplete: boolean;
};
