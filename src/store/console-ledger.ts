// The parts of the ledger that the console and edges use: keys, apps, channels and releases with the
// numbers of their devices, webhooks, and tokens of edges. The obligations of `ledger.ts` hold here too.
// No method scans all devices.

import type { AuditDeed } from '../contract/audit-deed.ts';
import type {
  AppOverview,
  ChannelReleases,
  Found,
  LabelCounts,
  ReleaseDetail,
} from '../contract/console.ts';
import type { AdoptionStepPoint } from '../contract/console-fleet.ts';
import type { ListedEdgeToken, RevokedEdgeToken } from '../contract/edge-token.ts';
import type { Failure, LostRight, Outcome } from '../contract/failure.ts';
import type {
  AdoptionStep,
  Channel,
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

/** Use of a key; `from` is the address of the client. */
export type KeyUse = { readonly id: string; readonly at: string; readonly from: string };

export type AuditFilter = {
  /** Text that the actor must contain, ignoring case; `subject` filters likewise. */
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  /** Action, or the part before its dot, which selects all actions that begin with it. */
  readonly action?: string | undefined;
  /** What a steered release went through: a state that it got, or one of the other changes. */
  readonly did?: AuditDeed | undefined;
  /** Times (RFC 3339): entries from `since` on, and before `until`. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Cursor: `next` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
};

/** Releases of a channel to list. */
export type ReleaseFilter = {
  /** Counts from 1. */
  readonly page: number;
  readonly perPage: number;
  /** Text that the version must begin with. */
  readonly version?: string | undefined;
  readonly status?: ReleaseStatus | undefined;
};

/** Numbers of devices seen since the requested times, in the same order. */
export type SeenCounts = {
  readonly total: number;
  readonly seen: readonly number[];
  /** Whether `seen` was estimated from a sample. */
  readonly isEstimate: boolean;
};

export interface ConsoleLedger {
  /** Lists the API keys of an organization, newest first. */
  listKeys(organizationId: string): Promise<readonly ListedKey[]>;

  /** Records when keys were last used; the latest time is kept. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;

  /** Lists an organization's apps by ref, with channels by name. `seenSince` is RFC 3339. */
  listAppOverviews(organizationId: string, seenSince: string): Promise<readonly AppOverview[]>;

  /** Reads the channel's policy. */
  readChannel(
    app: { readonly id: string; readonly ref: string },
    name: string,
  ): Promise<Outcome<Channel, 'unknownChannel'>>;

  /** Counts the devices of the app, or of one of its channels, seen since each of these times (RFC 3339). */
  countSeen(
    appId: string,
    channel: string | undefined,
    since: readonly string[],
  ): Promise<SeenCounts>;

  /** Searches apps, releases and devices of an organization. */
  search(organizationId: string, text: string): Promise<Found>;

  /** Reads a page of the channel's releases, highest version first. */
  listChannelReleases(
    appId: string,
    channel: string,
    wanted: ReleaseFilter,
  ): Promise<Outcome<Omit<ChannelReleases, 'page' | 'pageCount'>, 'unknownChannel'>>;

  /** Reads a release with the numbers of its devices and its history. */
  readReleaseDetail(
    app: { readonly id: string; readonly ref: string },
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail, 'unknownChannel' | 'unknownRelease'>>;

  /** Counts the labels of the app's devices, the most frequent first. */
  countLabels(appId: string): Promise<LabelCounts>;

  /**
   * Reads the adoption series of one channel or of all, oldest first; of days and months from the one of
   * `since` on. For a fleet with thousands of versions not every hour is read, but hours at equal distances,
   * and only the newest of many days or months.
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

// The part of the ledger that keeps release webhooks: the integration of each app and its last deliveries.
// The obligations of `ledger.ts` hold here too.

/** Enabled webhook of an app. */
export type EnabledWebhook = {
  readonly appId: string;
  readonly provider: WebhookProvider;
  readonly appRef: string;
  readonly organizationId: string;
  /** Sealed secret as it was given to `enableWebhook`. */
  readonly sealedSecret: string;
  /** Time at which the webhook got this secret; only for comparison with itself. */
  readonly enabledAt: string;
} & WebhookSettings;

/** Sealed secret of an enabled webhook. */
export type SealedSecret = WebhookName & Pick<EnabledWebhook, 'sealedSecret'>;

/** App and code host, of which each pair has one webhook at most. */
export type WebhookName = Pick<EnabledWebhook, 'appId' | 'provider'>;

/** Place in the order of app and code host; any text, because a caller says where it goes on. */
export type SecretPlace = { readonly appId: string; readonly provider: string };

/** Settings that change; undefined leaves one as it is. */
export type WebhookChange = {
  readonly [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined;
};

/** Sealed secret of a webhook, and the same one sealed anew. */
export type ResealedSecret = WebhookName & {
  readonly from: string;
  readonly to: string;
};

/** What an event of a code host announces for a channel. */
export type NewAnnouncement = Announcement<NewArtifact> & {
  readonly name: ReleaseName;
  readonly version: string;
  readonly notes: string;
  /** Tells how a new release is held; undefined for one that is not. */
  readonly holdOf: (artifacts: readonly NewArtifact[]) => ReleaseHold | undefined;
};

/** What an announcement has done. */
export type Announced =
  | { readonly outcome: 'created'; readonly release: Release }
  | {
      readonly outcome: 'changed';
      readonly release: Release;
      /** What it was before. */
      readonly before: { readonly status: ReleaseStatus; readonly artifacts: number };
      /** Whether a release that was made anew on the code host took the place of the one before it. */
      readonly isMadeAnew: boolean;
      /** Whether its code host has called it back, and it stays so. */
      readonly isRetracted: boolean;
    }
  | { readonly outcome: 'left'; readonly release: Release; readonly left: LeftAlone | undefined }
  /** Nothing is here: its release was deleted or called back, or it is an edit, which is remembered. */
  | { readonly outcome: 'over' | 'remembered' };

export type AnnouncementObstacle =
  | 'unknownApp'
  | 'unknownChannel'
  | 'versionWithdrawn'
  | 'appArchived'
  | 'channelFull';

/** Event that retracts a release. */
export type NewRetraction = Retraction & { readonly reason: string };

export type NewDelivery = Omit<WebhookDelivery, 'id' | 'at' | 'provider'>;

/** An app with all its webhooks and its last deliveries. */
export type AppWebhooks = {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

export interface WebhookLedger {
  /**
   * Enables the app's webhook of a code host with this secret; an enabled webhook gets the new secret.
   * Settings that are not given stay as they were when it was on before.
   */
  enableWebhook(
    appId: string,
    webhook: Pick<SealedSecret, 'provider' | 'sealedSecret'> & WebhookChange,
    actor: Actor,
  ): Promise<Outcome<Webhook, 'invalid' | LostRight>>;

  /** Changes the settings of a webhook that is on. The secret stays, and deliveries on their way count. */
  updateWebhook(
    name: WebhookName,
    change: WebhookChange,
    actor: Actor,
  ): Promise<Outcome<Webhook, 'invalid' | 'unknownWebhook' | LostRight>>;

  /**
   * Disables the app's webhook of a code host, or all of them, and deletes the secrets; returns the app's
   * webhooks. One that is missing or disabled is left as it is.
   */
  disableWebhooks(
    appId: string,
    provider: WebhookProvider | undefined,
    actor: Actor,
  ): Promise<Outcome<readonly Webhook[], LostRight>>;

  /** Finds the enabled webhook of an app by the app's ref or id, in any organization. */
  findEnabledWebhook(app: string, provider: WebhookProvider): Promise<EnabledWebhook | undefined>;

  /** Lists the sealed secrets of the enabled webhooks by app and code host, from the one after `after`. */
  listSealedSecrets(
    after: SecretPlace | undefined,
    countMax: number,
  ): Promise<readonly SealedSecret[]>;

  /**
   * Replaces those sealed secrets that are still `from`, and returns how many. The webhooks stay what they
   * are, `enabledAt` included: deliveries that are on their way count.
   */
  replaceSealedSecrets(changes: readonly ResealedSecret[]): Promise<number>;

  /** Reads the app's webhooks, enabled or not, with their last deliveries, newest first. */
  readWebhooks(appId: string): Promise<{
    readonly webhooks: readonly Webhook[];
    readonly deliveries: readonly WebhookDelivery[];
  }>;

  /** Reads the same of all apps of an organization that have a webhook which is on, by ref. */
  readEnabledWebhooks(organizationId: string): Promise<readonly AppWebhooks[]>;

  /** Records a delivery to the actor's app and deletes the app's oldest ones beyond the bound. */
  recordDelivery(
    delivery: NewDelivery,
    actor: Extract<Actor, { kind: 'integration' }>,
  ): Promise<Failure<LostRight> | undefined>;

  /**
   * Takes what an event announces: creates the release, or completes the one that stands and was never
   * offered (`takeFirst` and `takeNext`). `changed` is empty when nothing that is served changes.
   */
  announceRelease(
    organizationId: string,
    announced: NewAnnouncement,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<Announced>, AnnouncementObstacle | LostRight>>;

  /**
   * Pauses the release that its code host has retracted (`judgeRetraction`), and remembers the event, so that
   * an announcement which arrives after it does nothing. The value says what became of the release;
   * undefined when there is none.
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

// The part of the ledger that a service needs to be followed by edges: their tokens, and the states of all
// channels. The obligations of `ledger.ts` hold here too.

/** Organization whose apps a token is for; null for all. */
export type EdgeScope = string | null;

export type NewEdgeToken = {
  readonly organizationId: EdgeScope;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

/** Token for authentication. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredEdgeToken = {
  readonly id: string;
  readonly organizationId: EdgeScope;
  readonly secretHash: string;
  readonly isRevoked: boolean;
};

/** Channel with the organization that it belongs to and its present revision. */
export type ChannelState = ChannelName & {
  readonly organizationId: string;
  readonly revision: number;
};

/** States of channels at one moment. */
export type ChannelStates = {
  readonly epoch: number;
  /** Name of the record; null before a node has used the database. */
  readonly record: string | null;
  /** Name of the time line that the epoch numbers; null where none was noted. */
  readonly line: string | null;
  readonly channels: readonly ChannelState[];
  /** Whether these are all; false when there are more than were asked for. */
  readonly isComplete: boolean;
};

export interface EdgeLedger {
  /**
   * Stores a new token. The audit of its organization names it, or that of every organization when it is for
   * all.
   */
  createEdgeToken(
    token: NewEdgeToken,
    actor: Actor,
  ): Promise<Outcome<ListedEdgeToken, 'unknownOrganization' | LostRight>>;

  /** Lists the newest tokens, revoked ones included; at most as many as are shown. */
  listEdgeTokens(): Promise<readonly ListedEdgeToken[]>;

  /** Revokes a token. Revoking it again returns the time of the first revocation. */
  revokeEdgeToken(
    id: string,
    actor: Actor,
  ): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>>;

  /** Finds the token with this public prefix, revoked or not. */
  findEdgeToken(prefix: string): Promise<StoredEdgeToken | undefined>;

  /** Returns the id of the app of each of these releases, by their ids, without those that there are not. */
  findReleaseApps(releaseIds: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** Reads the states of at most `countMax` channels of all organizations, in one consistent read. */
  readChannelStates(countMax: number): Promise<ChannelStates>;
}
