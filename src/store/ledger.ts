// The ledger: the system of record. One SQL implementation, reached through a pg pool or through PGlite.
//
// Methods return refusals as values and reject with `Unavailable` when the database cannot be reached or does
// not answer in time, or is not the record; after a rejected write it is unknown whether it happened. A write
// that resolved is durable. Every change to what a channel serves increments the channel's revision and is
// audited in the same transaction. A write for an actor reads the actor's right in its own transaction and
// holds it until the commit; where the right has ended, the write is refused (`LostRight`) and nothing is
// stored. Tenant checks are part of the queries: an app beyond the caller's scope is an unknown app.

import type { AuditPage, RevokedKey } from '../contract/console.ts';
import type {
  Failure,
  FailureKind,
  LostRight,
  Outcome,
  UnknownRelease,
} from '../contract/failure.ts';
import type {
  ApiKey,
  App,
  AppState,
  Channel,
  ChannelUpdateMode,
  KeyRight,
  ListedChannel,
  Organization,
  Release,
  ReleaseStatus,
  ServingState,
  Targeting,
  WithdrawnRelease,
} from '../contract/resource.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ReleaseHold } from '../domain/release/announcement.ts';
import type { Served, Serving } from '../domain/release/serving-change.ts';
import type { WithdrawalObstacle } from '../domain/release/withdrawal.ts';
import type { PlanDefinition } from '../domain/rollout/plan-state.ts';
import type { AccountLedger } from './account-ledger.ts';
import type { AuditFilter, ConsoleLedger, EdgeLedger, WebhookLedger } from './console-ledger.ts';
import type { ChannelNameList } from './engine.ts';
import type { FleetLedger, PlanLedger } from './fleet-ledger.ts';
import type {
  Actor,
  AppChange,
  Changed,
  DryRunResult,
  HeldSnapshot,
  KnownStates,
  NewArtifact,
  ReleaseName,
  RepeatableCall,
  TenantScope,
} from './ledger-terms.ts';

export type NewRelease = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
  readonly canonicalVersion: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  /** Rollout in percent; undefined takes the channel's default. */
  readonly rolloutPct: number | undefined;
  readonly targets: Targeting | null;
  readonly artifacts: readonly NewArtifact[];
  /** Plan that it begins under, at 0 %; undefined for none. */
  readonly plan?: PlanDefinition | undefined;
  /**
   * How a code host's release is held until it is published: see `ReleaseHold`; undefined for one that is
   * not.
   */
  readonly hold?: ReleaseHold | undefined;
};

/** Kinds of refusal of a release that may otherwise be published on its channel. */
export type PublishObstacle =
  | 'versionExists'
  | 'versionWithdrawn'
  | 'appArchived'
  | 'channelFull'
  | 'idempotencyKeyUsed';

/** Release of one channel that another is to have, with how it is served there. */
export type NewPromotion = Pick<
  NewRelease,
  'app' | 'canonicalVersion' | 'status' | 'rolloutPct' | 'targets' | 'plan'
> & {
  readonly from: string;
  readonly to: string;
  readonly reason: string | undefined;
};

/** Release as it was published first, also when the same call was made before. */
export type Published = Changed<Release> & { readonly isRepeated: boolean };

export type ReleaseFilter = {
  readonly app: string | undefined;
  readonly channel: string | undefined;
  /** Canonical version. */
  readonly version?: string | undefined;
  readonly status?: string | undefined;
  /** Page number, from 1. */
  readonly page: number;
  readonly perPage: number;
};

/** Release with how it is served, as the organization that has it sees it. */
export type OwnedRelease = {
  readonly release: Release;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  /** Time of the first offer, RFC 3339; null before. */
  readonly offeredAt: string | null;
  /** Number of devices on record that run it on its channel. */
  readonly devices: number;
};

export type ReleasePage = { readonly releases: readonly Release[]; readonly total: number };

export type ChannelChange = {
  /** Minimum supported version; null clears it, undefined leaves it. */
  readonly minimumSupportedVersion?: string | null | undefined;
  readonly defaultRollout?: number | undefined;
  readonly updateMode?: ChannelUpdateMode | undefined;
  readonly requireSignature?: boolean | undefined;
  /** Name of a channel of the app; null ends the following, undefined leaves it. */
  readonly follows?: string | null | undefined;
};

/** API key for authentication. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredKey = {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly secretHash: string;
  readonly revokedAt: string | null;
  /** Whether its end has come, by the ledger's clock. */
  readonly isOver: boolean;
  /** Ids of the apps that it may name; null for all of the organization. */
  readonly appIds: readonly string[] | null;
  /** Rights that it was made with; null for all. */
  readonly may: readonly KeyRight[] | null;
};

export type NewKey = KeyLimits & {
  readonly organizationId: string;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

/** What a key is narrowed to when it is made; undefined is no narrowing. */
export type KeyLimits = {
  /** Refs or ids of the only apps that it may name. */
  readonly apps?: readonly string[] | undefined;
  readonly may?: readonly KeyRight[] | undefined;
  /** End of its validity, RFC 3339. */
  readonly expiresAt?: string | undefined;
};

/** What the ledger is at: its epoch, and revisions by channel id; channels that do not exist are left out. */
export type PresentRevisions = {
  readonly epoch: number;
  readonly revisions: ReadonlyMap<string, number>;
};

/** Present epoch, and whether this call raised it. */
export type RaisedEpoch = { readonly epoch: number; readonly isRaised: boolean };

export type SnapshotLookup = ServingSnapshot | 'unknown-app' | 'unknown-channel';

export interface Ledger
  extends FleetLedger,
    AccountLedger,
    ConsoleLedger,
    WebhookLedger,
    PlanLedger,
    EdgeLedger {
  /** Creates an organization; an account that creates it becomes its owner. */
  createOrganization(name: string, actor: Actor): Promise<Outcome<Organization, LostRight>>;

  /** Creates an app with its channels. Refs are unique across organizations. */
  createApp(
    app: { organizationId: string; ref: string; name: string; channels: readonly string[] },
    actor: Actor,
  ): Promise<Outcome<Changed<App>, 'refTaken' | LostRight>>;

  /** Renames an app, given by ref or id, archives it, or brings it back. */
  updateApp(
    app: string,
    change: AppChange,
    actor: Actor,
  ): Promise<Outcome<AppState, 'unknownApp' | LostRight>>;

  /** Adds a channel to an app, given by ref or id. */
  createChannel(
    app: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<Changed<Channel>, 'channelExists' | 'appArchived' | LostRight>>;

  /**
   * Changes a channel's policy. A change that changes nothing is neither audited nor a revision. A channel
   * that is to be followed must be of the same app, and must not follow this one itself, also through others.
   */
  updateChannel(
    app: string,
    name: string,
    change: ChannelChange,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<Channel>, 'unknownChannel' | 'followsInCircle' | LostRight>>;

  /** Stores a new key. */
  createKey(key: NewKey, actor: Actor): Promise<Outcome<ApiKey, 'invalid' | LostRight>>;

  /** Revokes a key. Revoking it again returns the time of the first revocation. */
  revokeKey(id: string, actor: Actor): Promise<Outcome<RevokedKey, LostRight>>;

  /**
   * Returns the refusal of an actor whose right has ended since its call was admitted, for calls that write
   * nothing. The right may end right after the answer.
   */
  findLostRight(actor: Actor): Promise<Failure<LostRight> | undefined>;

  /** Finds the key with this public prefix, revoked or not. */
  findKey(prefix: string): Promise<StoredKey | undefined>;

  /** Reads a page of the organization's audit, newest first. */
  listAudit(
    organizationId: string,
    filter: AuditFilter,
  ): Promise<Outcome<AuditPage, 'unknownOrganization'>>;

  /** Finds the app with this ref or id. */
  findApp(
    scope: TenantScope,
    app: string,
  ): Promise<Outcome<{ readonly id: string; readonly ref: string }, 'unknownApp'>>;

  /** Finds the app with this ref or id, whatever its organization. */
  findAnyApp(
    app: string,
  ): Promise<Outcome<{ readonly id: string; readonly ref: string }, 'unknownApp'>>;

  /** Lists apps by ref, each with its channels by name. */
  listApps(scope: TenantScope): Promise<readonly App[]>;

  /** Reads a page of releases, newest first by createdAt, then by id. Unknown filters give an empty page. */
  listReleases(scope: TenantScope, filter: ReleaseFilter): Promise<ReleasePage>;

  /** Reads one release by its id. */
  readOwnedRelease(
    scope: TenantScope,
    id: string,
  ): Promise<Outcome<OwnedRelease, 'unknownRelease'>>;

  /** Lists the channels of an app by name. */
  listChannels(
    scope: TenantScope,
    app: string,
  ): Promise<Outcome<readonly ListedChannel[], 'unknownApp'>>;

  /**
   * Publishes a release, unless the channel has one of this canonical version, or is full (§8), or a code
   * host announces what was withdrawn. A call that was made before changes nothing and returns what it has
   * published: see `RepeatableCall`.
   */
  publishRelease(
    scope: TenantScope,
    release: NewRelease,
    actor: Actor,
    call?: RepeatableCall,
    known?: KnownStates,
  ): Promise<Outcome<Published, 'unknownChannel' | PublishObstacle | LostRight>>;

  /**
   * Publishes what one channel has on another: the same version, notes and artifacts. Refuses a source that
   * is rolled back or deprecated, one that is paused or unhealthy unless the promotion says how it is rolled
   * out, and what `publishRelease` refuses.
   */
  promoteRelease(
    scope: TenantScope,
    promotion: NewPromotion,
    actor: Actor,
    call?: RepeatableCall,
    known?: KnownStates,
  ): Promise<Outcome<Published, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>>;

  /** Deletes at most `rowsMax` idempotency keys that are over; returns how many it deleted. */
  forgetIdempotencyKeys(rowsMax: number): Promise<number>;

  /**
   * Changes how a release is served. Locks the channel, hands the present state to `transition` (pure) and
   * stores what it returns; ordered against `recordFirstOffer` by that lock. When the transition refuses,
   * nothing is stored. A transition that changes nothing is neither audited nor a revision.
   */
  controlServing<Kind extends FailureKind>(
    scope: TenantScope,
    name: ReleaseName,
    transition: (serving: Serving) => Outcome<Served, Kind>,
    actor: Actor,
    reason?: string,
    known?: KnownStates,
  ): Promise<Outcome<Changed<ServingState>, UnknownRelease | Kind | LostRight>>;

  /**
   * Does what `publishRelease` does, with its refusals, and takes it back. `held` gives snapshots that the
   * caller has.
   */
  dryRunPublish(
    scope: TenantScope,
    release: NewRelease,
    actor: Actor,
    held?: HeldSnapshot,
    known?: KnownStates,
  ): Promise<
    Outcome<DryRunResult<Release>, 'unknownApp' | 'unknownChannel' | PublishObstacle | LostRight>
  >;

  /** Does what `promoteRelease` does, with its refusals, and takes it back, as `dryRunPublish` does. */
  dryRunPromotion(
    scope: TenantScope,
    promotion: NewPromotion,
    actor: Actor,
    held?: HeldSnapshot,
    known?: KnownStates,
  ): Promise<
    Outcome<DryRunResult<Release>, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>
  >;

  /** Does what `controlServing` does, with its refusals, and takes it back, as `dryRunPublish` does. */
  dryRunServing<Kind extends FailureKind>(
    scope: TenantScope,
    name: ReleaseName,
    transition: (serving: Serving) => Outcome<Served, Kind>,
    actor: Actor,
    held?: HeldSnapshot,
    known?: KnownStates,
  ): Promise<Outcome<DryRunResult<ServingState>, UnknownRelease | Kind | LostRight>>;

  /**
   * Removes a release that no device was offered, that none on record runs and that is not rolled back: its
   * version is free again. Ordered against `recordFirstOffer` as `controlServing` is. A version that a code
   * host brought is not accepted from it again before somebody else has published it.
   */
  withdrawRelease(
    scope: TenantScope,
    name: ReleaseName,
    actor: Actor,
    reason?: string,
    known?: KnownStates,
  ): Promise<Outcome<Changed<WithdrawnRelease>, UnknownRelease | WithdrawalObstacle | LostRight>>;

  /**
   * Records durably that a release is about to be offered, if the channel is still in the state from which
   * the decision was made. Returns false when it is not: the caller must decide again from a newer catalog.
   * Idempotent; does not change the revision. Rejects with `LockedTooLong` when the channel stays locked for
   * about a second. A caller that stalls during the call keeps no lock from others.
   */
  recordFirstOffer(channelId: string, releaseId: string, order: ServingOrder): Promise<boolean>;

  /**
   * Reads the serving state of a channel at one revision. `app` is a ref or an id. `known` is a snapshot that
   * the caller has, of the same channel as a rule: releases with the same edition are not read again, and
   * those that are the same throughout are the same objects in the result.
   */
  readSnapshot(app: string, channel: string, known?: ServingSnapshot): Promise<SnapshotLookup>;

  /**
   * Lists at most `countMax` channels of all organizations; undefined when their tag is `heldTag`, which is
   * cheap to find out. A channel that is created meanwhile may be missing; then the next call lists again.
   */
  listChannelNames(
    heldTag: string | undefined,
    countMax: number,
  ): Promise<ChannelNameList | undefined>;

  /** Reads the ledger's epoch and the present revisions of these channels, in one consistent read. */
  readRevisions(channelIds: readonly string[]): Promise<PresentRevisions>;

  /**
   * Examines whether the database is the record, for a caller that asked about channels of which it has none.
   * Rejects with `Unavailable` when it knows none of the channels that are remembered outside of it.
   */
  confirm(): Promise<void>;

  /**
   * Raises the epoch above `above`, unless it is already, because the ledger was found to have gone back. Of
   * several nodes at once one raises it.
   */
  raiseEpoch(above: number): Promise<RaisedEpoch>;

  /**
   * Marks releases of a channel as offered, as far as the ledger has them, because it went back and lost the
   * marks. Returns the number of marks that were missing. Does not change the revision.
   */
  restoreOffers(channelId: string, releaseIds: readonly string[]): Promise<number>;

  /** Returns whether the database answers now, is migrated and is the record. Never rejects. */
  isReachable(): Promise<boolean>;

  /** Waits for running statements, then closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

// The part of the ledger that answering devices needs: what channels serve, first offers, labels, and the
// record of check-ins. Everything else is for publishers and people.

/** Ledger as far as serving needs it. */
export type ServingLedger = Pick<
  Ledger,
  // What channels serve.
  | 'listChannelNames'
  | 'readRevisions'
  | 'readSnapshot'
  | 'recordFirstOffer'
  // What is done when the record went back.
  | 'confirm'
  | 'raiseEpoch'
  | 'restoreOffers'
  // Devices: their time, their labels and their check-ins.
  | 'readTime'
  | 'readLabels'
  | 'readLabelChanges'
  | 'recordCheckIns'
  | 'recordAwaited'
  | 'recordChecks'
  // The store itself.
  | 'isReachable'
  | 'close'
>;
