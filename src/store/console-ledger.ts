// The parts of the ledger for the console and for edges: keys, apps, channels and releases with device
// counts, webhooks, and edge tokens. The obligations of `ledger.ts` hold here too. No method scans all
// devices.

import type { Attention } from '../contract/attention.ts';
import type { AuditDeed } from '../contract/audit-deed.ts';
import type {
  AppOverview,
  ChannelReleases,
  Found,
  LabelCounts,
  ListedRelease,
  ReleaseDetail,
  Unjudged,
} from '../contract/console.ts';
import type { AdoptionStepPoint } from '../contract/console-fleet.ts';
import type { ListedEdgeToken, RevokedEdgeToken } from '../contract/edge-token.ts';
import type { Failure, LostRight, Outcome } from '../contract/failure.ts';
import type {
  AdoptionStep,
  Channel,
  KeyRight,
  ListedKey,
  Release,
  ReleaseStatus,
  Webhook,
  WebhookDelivery,
  WebhookSettings,
} from '../contract/resource.ts';
import type { WebhookProvider } from '../contract/webhook-provider.ts';
import type { Announcement, LeftAlone, ReleaseHold } from '../domain/release/announcement.ts';
import type { Retraction, RetractionOutcome } from '../domain/release/retraction.ts';
import type { ChannelName } from './engine.ts';
import type { Actor, Changed, KnownStates, NewArtifact, ReleaseName } from './ledger-terms.ts';

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

/** Limits of a new key; undefined is no limit. */
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

/** App with its organization. */
export type OwnedApp = {
  readonly id: string;
  readonly ref: string;
  readonly organizationId: string;
};

/** Releases of a page before their standings are found. */
export type UnjudgedReleases = Pick<ChannelReleases, 'total' | 'fleet'> & {
  readonly releases: readonly Unjudged<ListedRelease>[];
};

export interface ConsoleLedger {
  /** Lists the organization's API keys, newest first. */
  listKeys(organizationId: string): Promise<readonly ListedKey[]>;

  /** Records when keys were last used; keeps the latest time of each. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;

  /** Lists an organization's apps by ref, with channels by name and the devices seen since `seenSince`. */
  listAppOverviews(organizationId: string, seenSince: string): Promise<readonly AppOverview[]>;

  /** Reads what needs a person in the organization, up to the number that the overview shows. */
  readAttention(organizationId: string): Promise<Attention>;

  readChannel(
    app: { readonly id: string; readonly ref: string },
    name: string,
  ): Promise<Outcome<Channel, 'unknownChannel'>>;

  /** Counts the devices of an app, or of one of its channels, seen since each of these times (RFC 3339). */
  countSeen(
    appId: string,
    channel: string | undefined,
    since: readonly string[],
  ): Promise<SeenCounts>;

  /** Searches apps, releases and devices of an organization. */
  search(organizationId: string, text: string): Promise<Found>;

  /** Reads a page of the channel's releases, highest version first. */
  listChannelReleases(
    app: OwnedApp,
    channel: string,
    wanted: ReleaseFilter,
  ): Promise<Outcome<UnjudgedReleases, 'unknownChannel'>>;

  /** Reads a release with its device counts and its history. */
  readReleaseDetail(
    app: OwnedApp,
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<Unjudged<ReleaseDetail>, 'unknownChannel' | 'unknownRelease'>>;

  /** Counts the labels of the app's devices, the most frequent label first. */
  countLabels(appId: string): Promise<LabelCounts>;

  /**
   * Reads the adoption series of one channel or of all, oldest first. A series of days or months begins with
   * the one that contains `since`. For a fleet with thousands of versions it has hours at equal distances, or
   * only the newest days or months.
   */
  readAdoptionSteps(
    appId: string,
    filter: {
      readonly since: string;
      readonly step: AdoptionStep;
      readonly channel: string | undefined;
    },
  ): Promise<readonly AdoptionStepPoint[]>;
}

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
  /** Null for one whose event has none. */
  readonly id: number | null;
  /** Owner and name, such as `acme/notes`. */
  readonly name: string;
};

export type SealedSecret = WebhookName & Pick<EnabledWebhook, 'sealedSecret'>;

/** App and code host; each pair has at most one webhook. */
export type WebhookName = Pick<EnabledWebhook, 'appId' | 'provider'>;

/** Cursor in the order of app and code host; any text, because callers send it. */
export type SecretPlace = { readonly appId: string; readonly provider: string };

/** Webhook settings to change; an undefined one stays as it is. */
export type WebhookChange = {
  readonly [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined;
};

/** Sealed secret of a webhook, and the same secret sealed again. */
export type ResealedSecret = WebhookName & {
  readonly from: string;
  readonly to: string;
};

/** Release that a code host's event announces for a channel. */
export type NewAnnouncement = Announcement<NewArtifact> & {
  readonly name: ReleaseName;
  readonly version: string;
  /** Returns how a new release is held; undefined for one that is not held. */
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
  /** No release: it was deleted or retracted (`over`), or the ledger keeps an edit (`remembered`). */
  | { readonly outcome: 'over' | 'remembered' };

export type AnnouncementObstacle =
  | 'unknownApp'
  | 'unknownChannel'
  | 'versionWithdrawn'
  | 'appArchived'
  | 'channelFull';

export type NewRetraction = Retraction & { readonly reason: string };

export type NewDelivery = Omit<WebhookDelivery, 'id' | 'at' | 'provider'>;

export type AppWebhooks = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

export interface WebhookLedger {
  /**
   * Enables the app's webhook of a code host with this secret; a webhook that is already enabled gets the new
   * secret. Settings that are not given stay as they were when it was last enabled.
   */
  enableWebhook(
    appId: string,
    webhook: Pick<SealedSecret, 'provider' | 'sealedSecret'> & WebhookChange,
    actor: Actor,
  ): Promise<Outcome<Webhook, 'invalid' | LostRight>>;

  /** Changes the settings of an enabled webhook. Its secret stays, so pending deliveries are accepted. */
  updateWebhook(
    name: WebhookName,
    change: WebhookChange,
    actor: Actor,
  ): Promise<Outcome<Webhook, 'invalid' | 'unknownWebhook' | LostRight>>;

  /**
   * Disables the app's webhook of one code host, or of all, and deletes the secrets. Returns the app's
   * webhooks; does nothing for a missing or disabled one.
   */
  disableWebhooks(
    appId: string,
    provider: WebhookProvider | undefined,
    actor: Actor,
  ): Promise<Outcome<readonly Webhook[], LostRight>>;

  /** Finds the enabled webhook of an app by the app's ref or id, in any organization. */
  findEnabledWebhook(app: string, provider: WebhookProvider): Promise<EnabledWebhook | undefined>;

  /**
   * Gives a webhook the repository whose releases it takes, if it has none, and its new name if it was
   * renamed. Another one is noted. Returns the repository that the webhook has then; null where it was
   * disabled, or got another secret, since.
   */
  bindRepository(
    webhook: WebhookName & Pick<EnabledWebhook, 'enabledAt'>,
    repository: HostRepository,
  ): Promise<HostRepository | null>;

  /** Lists the sealed secrets of enabled webhooks by app and code host, beginning after `after`. */
  listSealedSecrets(
    after: SecretPlace | undefined,
    countMax: number,
  ): Promise<readonly SealedSecret[]>;

  /**
   * Replaces the sealed secrets that are still `from`; returns how many. `enabledAt` does not change, so
   * pending deliveries are still accepted.
   */
  replaceSealedSecrets(changes: readonly ResealedSecret[]): Promise<number>;

  /** Reads the app's webhooks, enabled or not, and its last deliveries, newest first. */
  readWebhooks(appId: string): Promise<{
    readonly webhooks: readonly Webhook[];
    readonly deliveries: readonly WebhookDelivery[];
  }>;

  /** Reads the webhooks and deliveries of each app of an organization with an enabled webhook, by ref. */
  readEnabledWebhooks(organizationId: string): Promise<readonly AppWebhooks[]>;

  /** Records a delivery to the actor's app; deletes the app's oldest deliveries beyond the limit. */
  recordDelivery(
    delivery: NewDelivery,
    actor: Extract<Actor, { kind: 'integration' }>,
  ): Promise<Failure<LostRight> | undefined>;

  /**
   * Handles an announcement: creates the release, or completes one that was never offered (`takeFirst` and
   * `takeNext`). `changed` is empty when no channel serves a new state.
   */
  announceRelease(
    organizationId: string,
    announced: NewAnnouncement,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<Announced>, AnnouncementObstacle | LostRight>>;

  /**
   * Pauses the release that its code host has retracted (`judgeRetraction`), and stores the event, so that an
   * announcement that arrives later has no effect. The value is the outcome for the release; undefined when
   * there is no release.
   */
  retractRelease(
    organizationId: string,
    name: ReleaseName,
    call: NewRetraction,
    actor: Actor,
    known?: KnownStates,
  ): Promise<
    Outcome<Changed<RetractionOutcome | undefined>, 'unknownApp' | 'unknownChannel' | LostRight>
  >;
}

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

export interface EdgeLedger {
  /** Stores a new token. The audit entry goes to its organization, or to every one if it is for all. */
  createEdgeToken(
    token: NewEdgeToken,
    actor: Actor,
  ): Promise<Outcome<ListedEdgeToken, 'unknownOrganization' | LostRight>>;

  /** Lists the newest tokens, revoked ones included, up to the number that the console shows. */
  listEdgeTokens(): Promise<readonly ListedEdgeToken[]>;

  /** Revokes a token. A repeated call returns the time of the first revocation. */
  revokeEdgeToken(
    id: string,
    actor: Actor,
  ): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>>;

  /** Tells, once, that an edge goes on asking with a revoked token. */
  tellRefusedEdge(id: string): Promise<void>;

  /** Finds the token with this public prefix, revoked or not. */
  findEdgeToken(prefix: string): Promise<StoredEdgeToken | undefined>;

  /** Returns the app id of each of these releases, by release id; unknown releases are left out. */
  findReleaseApps(releaseIds: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** Reads the states of at most `countMax` channels of all organizations, in one consistent read. */
  readChannelStates(countMax: number): Promise<ChannelStates>;
}
