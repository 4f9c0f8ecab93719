// The ledger: the system of record. One SQL implementation, reached through a pg pool or through PGlite.
//
// Methods return refusals as values and reject with `Unavailable` when the database cannot be reached or
// does not answer in time; after a rejected write it is unknown whether it happened. Whatever resolved is
// durable. Every change to what a channel serves bumps the channel's revision and is audited in the same
// transaction. Tenant checks stand in the queries: an app of another organization is an unknown app.

import type { Outcome } from '../contract/failure.ts';
import type {
  ApiKey,
  App,
  Channel,
  ChannelUpdateMode,
  Organization,
  Release,
  ReleaseStatus,
  ServingState,
  Targeting,
} from '../contract/resource.ts';
import type { Serving } from '../domain/serving.ts';
import type { ServingSnapshot, SnapshotArtifact } from '../domain/serving-snapshot.ts';
import type { AccountLedger } from './account-ledger.ts';
import type { AuditFilter, AuditPage, ConsoleLedger } from './console-ledger.ts';
import type { FleetLedger } from './fleet-ledger.ts';
import type { WebhookLedger } from './webhook-ledger.ts';

/**
 * Who did it. The audit keeps `admin-token`, or the kind and the name: `key:` and the key's id and name,
 * `account:` and the email, `integration:github`. What an integration publishes may get its artifacts
 * later: see `completeRelease`.
 */
export type Actor = {
  readonly kind: 'key' | 'admin-token' | 'account' | 'integration';
  readonly name: string;
};

/** The channel whose served state a change has moved, for propagation. */
export type ChannelRevision = {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
  readonly revision: number;
};

export type Changed<Value> = {
  readonly value: Value;
  readonly changed: readonly ChannelRevision[];
};

export type NewRelease = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
  readonly canonicalVersion: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  /** Undefined takes the channel's default. */
  readonly rolloutPct: number | undefined;
  readonly targets: Targeting | null;
  readonly artifacts: readonly SnapshotArtifact[];
};

export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly canonicalVersion: string;
};

export type ReleaseFilter = {
  readonly app: string | undefined;
  readonly channel: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly perPage: number;
};

export type ReleasePage = { readonly releases: readonly Release[]; readonly total: number };

export type ChannelChange = {
  /** `null` clears it; undefined leaves it. */
  readonly minimumSupportedVersion?: string | null | undefined;
  readonly defaultRollout?: number | undefined;
  readonly updateMode?: ChannelUpdateMode | undefined;
};

/** A key as authentication needs it. `secretHash` is the lower-case hex SHA-256 of the whole secret. */
export type StoredKey = {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly secretHash: string;
  readonly revokedAt: string | null;
};

export type NewKey = {
  readonly organizationId: string;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
};

export type SnapshotLookup = ServingSnapshot | 'unknown-app' | 'unknown-channel';

export interface Ledger extends FleetLedger, AccountLedger, ConsoleLedger, WebhookLedger {
  /** With an account given, that becomes its owner. */
  createOrganization(name: string, actor: Actor, ownerAccountId?: string): Promise<Organization>;

  /** 404 unknown organization, 409 when the ref is taken (refs are unique across organizations). */
  createApp(
    app: { organizationId: string; ref: string; name: string; channels: readonly string[] },
    actor: Actor,
  ): Promise<Outcome<Changed<App>>>;

  /** `app` is a ref or an id. 404 unknown app, 409 when the app has the channel. */
  createChannel(app: string, name: string, actor: Actor): Promise<Outcome<Changed<Channel>>>;

  /** 404 unknown app or channel. A change that changes nothing is neither audited nor a revision. */
  updateChannel(
    app: string,
    name: string,
    change: ChannelChange,
    actor: Actor,
  ): Promise<Outcome<Changed<Channel>>>;

  /** 404 unknown organization. */
  createKey(key: NewKey, actor: Actor): Promise<Outcome<ApiKey>>;

  /** Revoking again answers the first time. 404 unknown key. */
  revokeKey(id: string, actor: Actor): Promise<Outcome<{ id: string; revokedAt: string }>>;

  /** The key with this public prefix, revoked or not. */
  findKey(prefix: string): Promise<StoredKey | undefined>;

  /** Newest first. 404 unknown organization. */
  listAudit(organizationId: string, filter: AuditFilter): Promise<Outcome<AuditPage>>;

  /** The organization's app with this ref or id. 404 unknown app. */
  findApp(
    organizationId: string,
    app: string,
  ): Promise<Outcome<{ readonly id: string; readonly ref: string }>>;

  /** Any organization's app, for operators. `app` is a ref or an id. 404 unknown app. */
  findAnyApp(app: string): Promise<Outcome<{ readonly id: string; readonly ref: string }>>;

  /** The organization's apps by ref, each with its channels by name. */
  listApps(organizationId: string): Promise<readonly App[]>;

  /** Newest first by createdAt, then by id (both descending). Unknown filters give an empty page. */
  listReleases(organizationId: string, filter: ReleaseFilter): Promise<ReleasePage>;

  /** 404 unknown app or channel, 409 when the canonical version exists on the channel. */
  publishRelease(
    organizationId: string,
    release: NewRelease,
    actor: Actor,
  ): Promise<Outcome<Changed<Release>>>;

  /**
   * Changes how a release is served. Locks the channel, hands the present state to `transition` (pure) and
   * stores what it returns; ordered against `recordFirstOffer` by that lock. 404 unknown app, channel or
   * release; otherwise the transition's own refusal, with nothing stored.
   * A transition that changes nothing is neither audited nor a revision.
   */
  controlServing(
    organizationId: string,
    name: ReleaseName,
    transition: (serving: Serving) => Outcome<Serving>,
    actor: Actor,
  ): Promise<Outcome<Changed<ServingState>>>;

  /**
   * Makes durable that a release is about to be offered, if the channel still is at the revision the
   * decision was made from. False: it is not, and the caller must decide again from a newer catalog.
   * Idempotent; bumps no revision.
   */
  recordFirstOffer(channelId: string, releaseId: string, revision: number): Promise<boolean>;

  /** What a channel serves, in one consistent read. `app` is a ref or an id. */
  readSnapshot(app: string, channel: string): Promise<SnapshotLookup>;

  /** The present revision of each of these channels, by id; absent ones are left out. */
  readRevisions(channelIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** Whether the database answers right now (and is migrated). Never rejects. */
  isReachable(): Promise<boolean>;

  /** Waits for what runs, then releases connections. Safe to call twice. */
  close(): Promise<void>;
}
