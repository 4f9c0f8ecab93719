// The ledger: the system of record. One SQL implementation, on PostgreSQL through a `pg` pool or on PGlite.
//
// Methods return refusals as values. They reject with `Unavailable` when the database cannot be reached, does
// not answer in time, or is not the record; a rejected write may or may not have happened. A write that
// resolved is durable. Every change of what a channel serves increments the channel's revision and writes an
// audit entry, in the same transaction. A write for an actor reads the actor's right in its own transaction
// and holds it until the commit; if the right has ended, nothing is stored and the write is refused
// (`LostRight`). Tenant checks are part of the queries: an app outside the caller's scope is an unknown app.

import type { AuditPage, ChangedChannel, RevokedKey } from '../contract/console.ts';
import type { Failure, LostRight, Outcome } from '../contract/failure.ts';
import type {
  ApiKey,
  App,
  AppState,
  Channel,
  ListedChannel,
  Organization,
  Release,
  ServingState,
  WithdrawnRelease,
} from '../contract/resource.ts';
import type { StatusChange } from '../contract/standing.ts';
import type { ResumedStop, Stop, StopReach } from '../contract/stop.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { AccountLedger } from './account-ledger.ts';
import type { ApprovalLedger } from './approval-ledger.ts';
import type {
  AuditFilter,
  ConsoleLedger,
  EdgeLedger,
  NewKey,
  StoredKey,
  WebhookLedger,
} from './console-ledger.ts';
import type { DeliveryLedger } from './delivery-ledger.ts';
import type { DestinationLedger } from './destination-ledger.ts';
import type { ChannelNameList } from './engine.ts';
import type { FleetLedger, PlanLedger } from './fleet-ledger.ts';
import type { IdentityLedger } from './identity-ledger.ts';
import type {
  Actor,
  AppChange,
  Changed,
  ChannelUpdate,
  EndedStop,
  NewPromotion,
  NewRelease,
  NewStop,
  OwnedRelease,
  PresentRevisions,
  RaisedEpoch,
  ReleaseFilter,
  ReleaseName,
  ReleasePage,
  RunChange,
  ServingCall,
  SnapshotLookup,
  TenantScope,
} from './ledger-terms.ts';

export interface Ledger
  extends FleetLedger,
    ApprovalLedger,
    AccountLedger,
    IdentityLedger,
    ConsoleLedger,
    WebhookLedger,
    PlanLedger,
    DestinationLedger,
    DeliveryLedger,
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
   * Changes a channel's policy. A change without effect writes no audit entry and no revision. A followed
   * channel must belong to the same app and must not follow this one, directly or through others.
   */
  readonly updateChannel: RunChange<ChannelUpdate, ChangedChannel>;

  createKey(key: NewKey, actor: Actor): Promise<Outcome<ApiKey, 'invalid' | LostRight>>;

  /** Revokes a key. A repeated call returns the time of the first revocation. */
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

  findApp(
    scope: TenantScope,
    app: string,
  ): Promise<Outcome<{ readonly id: string; readonly ref: string }, 'unknownApp'>>;

  /** Finds the app with this ref or id, in any organization. */
  findAnyApp(
    app: string,
  ): Promise<Outcome<{ readonly id: string; readonly ref: string }, 'unknownApp'>>;

  /** Lists apps by ref, each with its channels by name. */
  listApps(scope: TenantScope): Promise<readonly App[]>;

  /** Reads a page of releases, newest first by createdAt, then by id; empty for unknown names. */
  listReleases(scope: TenantScope, filter: ReleaseFilter): Promise<ReleasePage>;

  readOwnedRelease(
    scope: TenantScope,
    id: string,
  ): Promise<Outcome<OwnedRelease, 'unknownRelease'>>;

  /** Returns the last change of status of releases by id; those without one in the audit log are left out. */
  readStatusChanges(
    organizationId: string,
    releases: readonly Pick<Release, 'id' | 'app' | 'channel' | 'version'>[],
  ): Promise<ReadonlyMap<string, StatusChange>>;

  /** Lists the channels of an app by name. */
  listChannels(
    scope: TenantScope,
    app: string,
  ): Promise<Outcome<readonly ListedChannel[], 'unknownApp'>>;

  /**
   * Publishes a release. Refuses a version that the channel has, a full channel (§8), and a code host's
   * announcement of a withdrawn version. A repeated call (`RepeatableCall`) changes nothing and returns what
   * the first one published.
   */
  readonly publishRelease: RunChange<NewRelease, Release>;

  /**
   * Publishes a release of one channel on another, with the same version, notes and artifacts. Refuses a
   * source that is rolled back or deprecated, a paused or unhealthy one unless the promotion says how to roll
   * it out, and whatever `publishRelease` refuses.
   */
  readonly promoteRelease: RunChange<NewPromotion, Release>;

  /**
   * Deletes at most `rowsMax` entries of the audit from before a time (RFC 3339), the oldest first; returns
   * how many it deleted.
   */
  forgetAudit(before: string, rowsMax: number): Promise<number>;

  /** Deletes at most `rowsMax` idempotency keys that are over; returns how many it deleted. */
  forgetIdempotencyKeys(rowsMax: number): Promise<number>;

  /**
   * Changes how a release is served. Locks the channel, passes the present state to `transition` (pure) and
   * stores its result; the lock orders it against `recordFirstOffer`. If the transition refuses, nothing is
   * stored. A transition without effect writes no audit entry and no revision.
   */
  readonly controlServing: RunChange<ServingCall, ServingState>;

  /**
   * Pauses all that is published on the channels, and holds the plans. Each release has its audit entry,
   * which names the stop. A release that is published later is no part of it.
   */
  readonly stopReleases: RunChange<NewStop, Stop>;

  /**
   * Publishes the releases of a stop whose status nobody has set since, and tells of the others why they are
   * left as they are. A second call publishes nothing.
   */
  readonly resumeStop: RunChange<EndedStop, ResumedStop>;

  /** Counts what a stop of the app, or of one channel of it, would reach. */
  measureStop(
    appId: string,
    channel: string | undefined,
  ): Promise<Outcome<StopReach, 'unknownChannel'>>;

  /**
   * Removes a release that was never offered, that no recorded device runs, and that is not rolled back; its
   * version is free again. Ordered against `recordFirstOffer` as `controlServing` is. A code host cannot
   * announce a version that it brought again until another actor has published it.
   */
  readonly withdrawRelease: RunChange<ReleaseName, WithdrawnRelease>;

  /**
   * Records durably that a release is about to be offered, if the channel is still in the state of the
   * decision. Returns false when it is not: the caller must decide again from a newer catalog. Idempotent;
   * does not change the revision. Rejects with `LockedTooLong` when the channel stays locked for about a
   * second. A caller that stalls during the call holds no lock.
   */
  recordFirstOffer(channelId: string, releaseId: string, order: ServingOrder): Promise<boolean>;

  /**
   * Reads the serving state of a channel at one revision. `app` is a ref or an id. `known` is a snapshot that
   * the caller has, usually of the same channel: its editions are not read again, and releases that did not
   * change at all are the same objects in the result.
   */
  readSnapshot(app: string, channel: string, known?: ServingSnapshot): Promise<SnapshotLookup>;

  /**
   * Lists at most `countMax` channels of all organizations; undefined when their tag is `heldTag`, which is
   * cheap to check. A channel created during the call may be missing; then the next call lists again.
   */
  listChannelNames(
    heldTag: string | undefined,
    countMax: number,
  ): Promise<ChannelNameList | undefined>;

  /** Reads the epoch and the present revisions of these channels, in one consistent read. */
  readRevisions(channelIds: readonly string[]): Promise<PresentRevisions>;

  /**
   * Checks that the database is the record, for a caller whose channels it does not have. Rejects with
   * `Unavailable` when it has none of the channels that are remembered outside the ledger.
   */
  confirm(): Promise<void>;

  /** Raises the epoch above `above`, unless it is higher already. Of concurrent calls one raises it. */
  raiseEpoch(above: number): Promise<RaisedEpoch>;

  /**
   * Marks releases of a channel as offered, as far as the ledger has them, because it went back and lost the
   * marks. Returns the number of missing marks. Does not change the revision.
   */
  restoreOffers(channelId: string, releaseIds: readonly string[]): Promise<number>;

  /** Returns whether the database answers now, is migrated and is the record. Never rejects. */
  isReachable(): Promise<boolean>;

  /** Waits for running statements, then closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The part of the ledger that answers devices: served states, first offers, labels and check-ins. */
export type ServingLedger = Pick<
  Ledger,
  // Served states.
  | 'listChannelNames'
  | 'readRevisions'
  | 'readSnapshot'
  | 'recordFirstOffer'
  // Recovery when the ledger went back.
  | 'confirm'
  | 'raiseEpoch'
  | 'restoreOffers'
  // Devices: time, labels and check-ins.
  | 'readTime'
  | 'readLabels'
  | 'readLabelChanges'
  | 'recordCheckIns'
  | 'recordAwaited'
  | 'recordChecks'
  | 'isReachable'
  | 'close'
>;
