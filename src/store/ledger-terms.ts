// Terms that all parts of the ledger share: the author of a change, the channels that a change moved, and the
// result of a dry run; and those of releases and channels.

import type { WebhookProvider } from '../contract/choice.ts';
import type { Failure, Outcome, UnknownPlace } from '../contract/failure.ts';
import type {
  ApprovalPage,
  ApprovalStatus,
  Artifact,
  AskedOperation,
  ChangeOf,
  DdiAuth,
  DdiSettings,
  KeyRight,
  ListedChannel,
  Release,
  Role,
  StoredApproval,
  Targeting,
  WithdrawnRelease,
} from '../contract/resource.ts';
import type { StatusChange } from '../contract/standing.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ReleaseHold } from '../domain/release/host/announcement.ts';
import type { Served, Serving } from '../domain/release/serving-change.ts';
import type { PlanDefinition } from '../domain/rollout/plan-state.ts';

/**
 * Author of a change, with the credential that admitted the call. A transaction that writes for an actor
 * reads that credential again and holds it until the commit, so that a revoked one writes nothing. The audit
 * names the actor as `actorText` spells it.
 */
export type Actor = (
  | OperatorActor
  | KeyActor
  | AccountActor
  | TokenActor
  | IntegrationActor
  | StrangerActor
  | PlanActor
  | ServiceActor
) &
  ByRequest;

/** Id of the HTTP request that makes a change; undefined where there is none. */
type ByRequest = { readonly requestId?: string | undefined };

/** Call that changes what channels serve. */
export type ChangeCall<Input> = {
  /** Apps that the call may name; undefined allows all, for a route that has checked the app itself. */
  readonly scope?: TenantScope | undefined;
  readonly input: Input;
  /** Author of the change. */
  readonly actor: Actor;
  readonly reason?: string | undefined;
  /** How to run the change; default: `do`. */
  readonly mode?: ChangeMode | undefined;
  /** Idempotency key of the call. */
  readonly repeat?: RepeatableCall | undefined;
  readonly known?: KnownStates | undefined;
  /** Whether to return what channels serve before and after; a dry run always does. */
  readonly isSeen?: boolean | undefined;
  readonly held?: HeldSnapshot | undefined;
};

/**
 * `do` makes a change that never waits for an approval; `try` makes it and rolls it back; `asks` stores it as
 * a request if it has to wait for an approval; `approves` carries a stored request out, or does nothing.
 */
type ChangeMode =
  | 'do'
  | 'try'
  | { readonly asks: AskedCall }
  | { readonly approves: ApprovingCall };

/** Call of an operation that may have to wait for an approval. */
export type AskedCall = {
  readonly operation: AskedOperation;
  /** Body of the call; the operation's shape reads it again when it is approved. */
  readonly body: object;
  readonly reason: string | undefined;
};

/** Approval that carries a stored call out. */
export type ApprovingCall = { readonly id: string; readonly reason: string | undefined };

/** The operator. The admin token is a setting, which does not change while the process runs. */
type OperatorActor = { readonly kind: 'admin-token' };

/** An API key; it may act until it is revoked or expires. */
export type KeyActor = ByRequest & {
  readonly kind: 'key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** Right that the call needs and that the key lacks; the rights of a key never change. */
  readonly lacks?: KeyRight | undefined;
};

/** A person with a session; may act while the session is open and the role suffices. */
export type AccountActor = ByRequest & {
  readonly kind: 'account';
  readonly email: string;
  readonly accountId: string;
  readonly tokenHash: string;
  /** Role that the change needs; undefined for changes that every account may make. */
  readonly needs: NeededRole | undefined;
};

/** Minimum role for a change, and its organization. */
export type NeededRole = {
  readonly organizationId: string;
  readonly role: Role;
  /** Refusal of accounts outside the organization: the target of the call does not exist for them. */
  readonly unknown: UnknownPlace;
};

/**
 * A person without a session who has shown a token or a password. The change itself uses up the token or
 * compares the password, and so notices if either has changed.
 */
type TokenActor = { readonly kind: 'token'; readonly email: string };

/**
 * A code host that delivers to an app's webhook; may act while the webhook has the secret that signed the
 * delivery.
 */
type IntegrationActor = {
  readonly kind: 'integration';
  readonly provider: WebhookProvider;
  readonly appId: string;
  /** Time at which the webhook got its present secret, as `findEnabledWebhook` returned it. */
  readonly enabledAt: string;
};

/** A rollout plan; it may act while it runs, and its transaction checks that itself. */
type PlanActor = { readonly kind: 'plan'; readonly id: string };

/** The service itself, for changes that follow from no call. */
type ServiceActor = { readonly kind: 'service' };

/** A client that did not sign in; only its failed sign-ins are recorded. */
type StrangerActor = { readonly kind: 'stranger' };

/**
 * Returns the text by which the audit and the messages name an actor: `admin-token`, `service`, `unknown`, or
 * its kind and name: `key:…`, `account:…`, `plan:…`, `integration:…`.
 */
export function actorText(actor: Actor): string {
  switch (actor.kind) {
    case 'admin-token':
      return 'admin-token';
    case 'service':
      return 'service';
    case 'stranger':
      return 'unknown';
    case 'key':
      return `key:${actor.id} (${actor.name})`;
    case 'account':
    case 'token':
      return `account:${actor.email}`;
    case 'plan':
      return `plan:${actor.id}`;
    case 'integration':
      return `integration:${actor.provider}`;
  }
}

/** Result of a change, with the channels that serve a new state. */
export type Changed<Value> = {
  readonly value: Value;
  readonly changed: readonly ChannelRevision[];
};

/** Channel that serves a new state, and the order of that state; input of propagation. */
export type ChannelRevision = ServingOrder & {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
};

/** Apps that a caller may name: all of an organization (its id), or some. Others are unknown to it. */
export type TenantScope = string | NarrowScope;

type NarrowScope = { readonly organizationId: string; readonly appIds: readonly string[] };

/** Returns a scope as parameters of a statement; `appIds` is null for all apps of the organization. */
export function scopeValues(
  scope: TenantScope,
): [organizationId: string, appIds: readonly string[] | null] {
  if (typeof scope === 'string') return [scope, null];
  return [scope.organizationId, scope.appIds];
}

/** App with its organization. */
export type OwnedApp = {
  readonly id: string;
  readonly ref: string;
  readonly organizationId: string;
};

/** Name of a release; `app` is a ref or an id. */
export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly canonicalVersion: string;
};

/** Release whose bars end: those of all devices, or of this many that the call names. */
export type ReleaseRetry = ReleaseName & { readonly named: number | undefined };

/** Release that devices get again. */
export type RetriedRelease = {
  readonly appId: string;
  readonly release: WithdrawnRelease;
  /** Number of the release in its app. */
  readonly number: number;
  /** Number of bars that have ended. */
  readonly devices: number;
};

/** Identity of a publishing call that carries an idempotency key, so that a repetition publishes nothing. */
export type RepeatableCall = {
  /** Id of the API key that the idempotency key belongs to. */
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** Text that is equal for the same call with the same body bytes, and for no other call. */
  readonly request: string;
};

/** Artifact as a publisher or a code host describes it. */
export type NewArtifact = Artifact & {
  /**
   * SHA-256 in lower-case hex from the code host. Updaters use it as the artifact's `sha256`; lists leave it
   * out, because no publisher gave it.
   */
  readonly digest?: string;
};

/** Returns settings after a change, with the fields of the settings before it, in their order. */
export function changedBy<Settings extends object>(
  before: Settings,
  change: ChangeOf<Settings>,
): Settings {
  const names = Object.keys(before) as (keyof Settings)[];
  const after = names.map((name) => [
    name,
    change[name] === undefined ? before[name] : change[name],
  ]);
  return Object.fromEntries(after);
}

// States of channels that are known outside the ledger when a change begins. If the ledger is behind one of
// them, it went back, and must get a higher epoch before it accepts the change.

/** Newest known state of a channel. */
export type KnownState = ServingOrder & {
  readonly channelId: string;
  readonly channel: string;
  /** Returns those of these release ids that are known to be offered. */
  offeredAmong(releaseIds: readonly string[]): readonly string[];
};

/**
 * Known states of the channels that a change moves, by name: the changed channel and its followers.
 * Undefined means that the caller looked and found nothing.
 */
export type KnownStates = ReadonlyMap<string, KnownState | undefined>;

/**
 * Error of a change whose `KnownStates` lack followers of the channel. Nothing was changed. The caller looks
 * these channels up as well and repeats the change.
 */
export class FollowersNotAsked extends Error {
  /** Ref of their app. */
  readonly app: string;
  readonly channels: readonly string[];

  constructor(app: string, channels: readonly string[]) {
    super(`nobody was asked about the followers ${channels.join(', ')}`);
    this.name = 'FollowersNotAsked';
    this.app = app;
    this.channels = channels;
  }
}

/**
 * Error of a change that found the ledger behind a known state. Nothing was changed. The caller raises the
 * ledger's epoch and repeats the change.
 */
export class LedgerBehind extends Error {
  /** Name of the channel whose known state is newer. */
  readonly channel: string;

  constructor({ channelId, channel, epoch, revision }: KnownState) {
    super(`the ledger is behind state ${epoch}/${revision} of channel ${channelId}`);
    this.name = 'LedgerBehind';
    this.channel = channel;
  }
}

/** A change that was made, or tried. */
export type Ran<Value> = Changed<Value> & {
  /** Whether an earlier call with the same idempotency key made it. */
  readonly isRepeated: boolean;
  /** What channels serve before and after, for a dry run and for a call that asks for it. */
  readonly seen?: Seen;
};

/** Runs a change in the mode of its call. */
export type RunChange<Input, Value> = (call: ChangeCall<Input>) => Promise<Outcome<Ran<Value>>>;

/** Refusal of a change that waits for an approval. `seen` is what it would do; a repeated call has none. */
export type Waiting = Failure & { readonly seen?: Seen };

/** What a change does to its channels. */
export type Seen = {
  /** The channel of the change and its followers. */
  readonly places: readonly [ServedChange, ...ServedChange[]];
  /** Version of the release that the change is about. */
  readonly version: string;
  /** Names of the app's other channels on which this version is published, sorted. */
  readonly alsoOn: readonly string[];
  /** Warnings about the release's health or the source of a promotion; mostly empty. */
  readonly concerns: readonly Concern[];
  /** State that a plan begins with; undefined if the change is not the creation of a plan. */
  readonly start?: PlanStart;
};

/** State that a plan begins with. */
type PlanStart = {
  /** Estimated number of devices, on the channel and its followers, by which the guards could judge. */
  readonly known: number;
  /** Rollout at which the plan begins. */
  readonly rolloutPct: number;
};

/** Warning about a field of a call. */
export type Concern = { readonly path: string; readonly message: string };

/** State that a channel serves before a change, and after it. */
export type ServedChange = { readonly before: ServingSnapshot; readonly after: ServingSnapshot };

/** Returns the caller's snapshot of a channel, which saves reading it. */
export type HeldSnapshot = (channel: string) => ServingSnapshot | undefined;

// Releases and channels.

/** Release to publish: the fields that its answer shows, and those that only the ledger needs. */
export type NewRelease = Omit<Release, 'id' | 'createdAt' | 'rolloutPct' | 'artifacts'> & {
  readonly canonicalVersion: string;
  /** Rollout in percent; undefined takes the channel's default. */
  readonly rolloutPct: number | undefined;
  readonly targets: Targeting | null;
  readonly artifacts: readonly NewArtifact[];
  /** Rollout plan to begin with, at 0 %; undefined for none. */
  readonly plan?: PlanDefinition | undefined;
  /** What a code host's release waits for before it is first published; undefined if for nothing. */
  readonly hold?: ReleaseHold | undefined;
};

/** Release of one channel to publish on another, and how to serve it there. */
export type NewPromotion = Pick<
  NewRelease,
  'app' | 'canonicalVersion' | 'status' | 'rolloutPct' | 'targets' | 'plan'
> & {
  readonly from: string;
  readonly to: string;
};

/** Change of how a release is served: `transition` returns its next state, or a refusal. */
export type ServingCall = ReleaseName & {
  readonly transition: (serving: Serving) => Outcome<Served>;
};

/** Stop of an app, or of one channel of it. */
export type NewStop = { readonly app: string; readonly channel: string | undefined };

/** Stop to end, by its id. */
export type EndedStop = { readonly stop: string };

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

/** Release and its serving state, as its organization sees it. */
export type OwnedRelease = {
  readonly release: Release;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  /** Time of the first offer, RFC 3339; null before. */
  readonly offeredAt: string | null;
  /** Number of devices on record that run it on its channel. */
  readonly devices: number;
  /** Last change of its status; null if the audit log does not have it. */
  readonly change: StatusChange | null;
};

export type ReleasePage = { readonly releases: readonly Release[]; readonly total: number };

/** Change of an app: its name, whether it is archived, and how devices that speak DDI authenticate. */
export type AppUpdate = {
  readonly app: string;
  readonly change: ChangeOf<{ name: string; archived: boolean; ddiAuth: DdiAuth }>;
};

/** Policy of a channel: all of its settings. */
export type ChannelPolicy = Omit<ListedChannel, 'name'>;
export type ChannelChange = ChangeOf<Omit<ChannelPolicy, 'ddi'> & { ddi: DdiChange | null }>;

/** Change of the settings of DDI; what it leaves out stays, or gets its default if DDI is off. */
type DdiChange = ChangeOf<Omit<DdiSettings, 'keys'> & { keys: ChangeOf<DdiSettings['keys']> }>;

/** Change of the settings of a channel. */
export type ChannelUpdate = {
  readonly app: string;
  readonly channel: string;
  readonly change: ChannelChange;
};

/** Present epoch, and present revisions by channel id; unknown channels are left out. */
export type PresentRevisions = {
  readonly epoch: number;
  readonly revisions: ReadonlyMap<string, number>;
};

/** Present epoch, and whether this call raised it. */
export type RaisedEpoch = { readonly epoch: number; readonly isRaised: boolean };

export type SnapshotLookup = ServingSnapshot | 'unknown-app' | 'unknown-channel';

// Terms of the ledger's calls for approvals. A change that widens exposure on a channel which asks for
// approvals is stored as a request, and its call is refused with that request (`awaitsApproval`). A change
// that approves a request is made in one transaction with the decision.

/** Approvals to list; undefined matches all. */
export type ApprovalFilter = {
  /** Ref or id. */
  readonly app?: string | undefined;
  readonly status?: ApprovalStatus | undefined;
  /** Cursor: `next` of the previous page. */
  readonly before?: string | undefined;
};

export type StoredPage = Omit<ApprovalPage, 'approvals'> & {
  readonly approvals: readonly StoredApproval[];
};
