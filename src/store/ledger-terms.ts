// Terms that all parts of the ledger share: who makes a change and by what right, what a change changed,
// and what a dry run answers.

import type { UnknownPlace } from '../contract/failure.ts';
import type { Artifact, KeyRight, Role } from '../contract/resource.ts';
import type { WebhookProvider } from '../contract/webhook-provider.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';

/**
 * Author of a change, with the credential that admitted the call. A transaction that writes for an actor
 * reads that credential again and holds it until the commit: what was revoked meanwhile writes nothing. The
 * audit keeps `admin-token`, `key:` with the key's id and name, `account:` and the email,
 * `plan:` and the plan's id, `integration:github`, or
 * `unknown`.
 */
export type Actor = (
  | OperatorActor
  | KeyActor
  | AccountActor
  | TokenActor
  | IntegrationActor
  | StrangerActor
  | PlanActor
) &
  ByRequest;

/** Request by which an actor makes a change; undefined where none is named. */
type ByRequest = { readonly requestId?: string | undefined };

/** The operator, whose admin token is a setting and does not change while the process runs. */
type OperatorActor = { readonly kind: 'admin-token' };

/** An API key; it acts while it is neither revoked nor over. */
export type KeyActor = ByRequest & {
  readonly kind: 'key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** Right that the call needs and the key was not made with; rights of a key never change. */
  readonly lacks?: KeyRight | undefined;
};

/** A person with a session; acts while the session is open and the role suffices. */
type AccountActor = {
  readonly kind: 'account';
  readonly email: string;
  readonly accountId: string;
  readonly tokenHash: string;
  /** Role that the change needs; undefined for changes that every account may make. */
  readonly needs: NeededRole | undefined;
};

/** Role that a change needs at least, and where. */
export type NeededRole = {
  readonly organizationId: string;
  readonly role: Role;
  /** Refusal of accounts that are no member of the organization: what the call named does not exist. */
  readonly unknown: UnknownPlace;
};

/**
 * A person without a session whose token or password was right; the change itself uses the token up or
 * compares the password, and finds it when either has changed.
 */
type TokenActor = { readonly kind: 'token'; readonly email: string };

/**
 * A code host that delivers to an app's webhook; acts while the webhook has the secret that the delivery was
 * signed with. What an integration publishes may get its artifacts later: see `announceRelease`.
 */
type IntegrationActor = {
  readonly kind: 'integration';
  readonly provider: WebhookProvider;
  readonly appId: string;
  /** Time at which the webhook got its present secret, as `findEnabledWebhook` returned it. */
  readonly enabledAt: string;
};

/** A rollout plan, which acts while it runs; its transaction reads whether it does. */
type PlanActor = { readonly kind: 'plan'; readonly id: string };

/** Somebody unknown, of whom only failures are recorded. */
type StrangerActor = { readonly kind: 'stranger' };

// Result of a change in the ledger that may have moved what channels serve.

/** Value that a change has left, with the channels whose served state it has moved. */
export type Changed<Value> = {
  readonly value: Value;
  readonly changed: readonly ChannelRevision[];
};

/** Channel whose served state a change has moved, and the place of the new state, for propagation. */
export type ChannelRevision = ServingOrder & {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
};

// Apps that a caller may name.

/**
 * Apps that a caller may name: all of an organization, which is its id, or some of them. Every other app is
 * unknown to it.
 */
export type TenantScope = string | NarrowScope;

type NarrowScope = { readonly organizationId: string; readonly appIds: readonly string[] };

/**
 * Returns the organization of a scope and the ids of its apps, null for all of them: values of a statement.
 */
export function scopeValues(
  scope: TenantScope,
): [organizationId: string, appIds: readonly string[] | null] {
  if (typeof scope === 'string') return [scope, null];
  return [scope.organizationId, scope.appIds];
}

// Names a release in the ledger.

/** Name of a release: its app (ref or id), its channel, and its version in canonical form. */
export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly canonicalVersion: string;
};

// A publishing call that its caller may repeat without publishing twice.

/** Identity of a call that carries an idempotency key. */
export type RepeatableCall = {
  /** Id of the API key, to which the idempotency key belongs. */
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** Text that is the same for the same call with the same bytes as body, and for no other. */
  readonly request: string;
};

// An artifact on its way into the ledger.

/** Artifact as its publisher, or a code-hosting service, tells of it. */
export type NewArtifact = Artifact & {
  /**
   * SHA-256 in lower-case hex that a code-hosting service told. Updaters use it as the artifact's `sha256`;
   * it is not listed, because no publisher gave it.
   */
  readonly digest?: string;
};

// What owners change of an app.

/** Change of an app; undefined leaves it as it is. */
export type AppChange = {
  readonly name?: string | undefined;
  readonly archived?: boolean | undefined;
};

// What is known of a channel outside of the ledger when a change of it begins. A ledger that is behind it
// went back: it must not accept the change before it is known to be on a new time line.

/** Newest known state of a channel, with its releases that are known to be offered. */
export type KnownState = ServingOrder & {
  readonly channelId: string;
  readonly channel: string;
  /** Returns those of these releases, by id, that are known to be offered. */
  offeredAmong(releaseIds: readonly string[]): readonly string[];
};

/**
 * What is known of the channels that a change moves, by their names: of the changed one, and of those that
 * follow it. Undefined stands for one that was asked about, and of which nothing is known.
 */
export type KnownStates = ReadonlyMap<string, KnownState | undefined>;

/**
 * Error of a change that found followers of the channel about which nobody was asked. Nothing was changed.
 * The caller asks about these channels as well, and makes the change again.
 */
export class FollowersNotAsked extends Error {
  readonly channels: readonly string[];

  constructor(channels: readonly string[]) {
    super(`nobody was asked about the followers ${channels.join(', ')}`);
    this.name = 'FollowersNotAsked';
    this.channels = channels;
  }
}

/**
 * Error of a change that found the ledger behind what was known before. Nothing was changed. The caller
 * raises the epoch of the ledger and makes the change again.
 */
export class LedgerBehind extends Error {
  /** Name of the channel of which more is known. */
  readonly channel: string;

  constructor({ channelId, channel, epoch, revision }: KnownState) {
    super(`the ledger is behind state ${epoch}/${revision} of channel ${channelId}`);
    this.name = 'LedgerBehind';
    this.channel = channel;
  }
}

// What the ledger tells of a change that it takes back again.

/** What a change would answer, and what it would change. */
export type DryRunResult<Value> = {
  readonly value: Value;
  /** The channel of the change, and those that follow it. */
  readonly places: readonly [DryRunPlace, ...DryRunPlace[]];
  /** Names of the app's other channels that have this version published, by name. */
  readonly alsoOn: readonly string[];
  /** Warnings about the health of the release, or about the source of a promotion; mostly none. */
  readonly concerns: readonly { readonly path: string; readonly message: string }[];
};

/** What a channel serves before a change, and what it would serve after it. */
export type DryRunPlace = { readonly before: ServingSnapshot; readonly after: ServingSnapshot };

/** Returns the snapshot of a channel that a caller has, which saves reading it. */
export type HeldSnapshot = (channel: string) => ServingSnapshot | undefined;
