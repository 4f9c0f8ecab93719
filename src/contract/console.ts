// Answers of the console API. Store, routes and browser import this one description, so that a field which is
// renamed in one of them does not compile in the others.

import type { Answer } from './answer-shape.ts';
import type { Attention } from './attention.ts';
import type {
  Adoption,
  BriefDecision,
  DeviceCount,
  DevicePage,
  ExplainedDecision,
  FleetNow,
  LiveEvents,
  PurgedDevices,
  ShownDevice,
} from './console-fleet.ts';
import type {
  DryRunAnswer,
  Finding,
  PlanDryRunAnswer,
  ServingDryRunAnswer,
  UnpublishedRelease,
} from './dry-run.ts';
import type { IssuedEdgeToken, ListedEdgeToken, RevokedEdgeToken } from './edge.ts';
import type { Explanation } from './explanation.ts';
import type {
  Destination,
  IssuedDestination,
  NotificationDelivery,
  OfferedMail,
} from './notification.ts';
import type { SignInWays } from './oidc.ts';
import type {
  Account,
  ApiKey,
  App,
  Approval,
  ApprovalPage,
  AppState,
  Artifact,
  AuditEntry,
  Channel,
  DdiCredentialList,
  DdiSecret,
  Invitation,
  IssuedGatewayToken,
  ListedChannel,
  ListedKey,
  ListedSession,
  Member,
  Membership,
  Organization,
  Passkey,
  Release,
  ReleaseStatus,
  ResumedStop,
  Role,
  ServingState,
  Stop,
  StopReach,
  Targeting,
  Webhook,
  WebhookDelivery,
  WithdrawnRelease,
} from './resource.ts';
import type {
  FailureBreakdown,
  Health,
  PlanStatus,
  ReleaseAdoption,
  RolloutPlan,
  Signal,
} from './rollout-plan.ts';
import type { ChannelStanding, ReleaseStanding, StatusChange } from './standing.ts';

/** Answer of each endpoint below `/console/api/`, by its method and path. */
export type ConsoleAnswers = {
  'GET session': SessionState;
  'POST session': SessionState;
  'DELETE session': NoContent;
  'DELETE sessions': NoContent;
  'GET account/sessions': { readonly sessions: readonly ListedSession[] };
  'DELETE account/sessions': NoContent;
  [ending: `DELETE account/sessions/${string}`]: NoContent;
  'GET account/passkeys': PasskeyList;
  'POST account/passkeys/options': { readonly options: PasskeyOptions };
  'POST account/passkeys': Passkey;
  [renaming: `PATCH account/passkeys/${string}`]: Passkey;
  [removal: `DELETE account/passkeys/${string}`]: NoContent;
  'POST session/passkey/options': { readonly options: PasskeyOptions };
  'POST session/passkey': SessionState;
  'GET recovery': OpenReset;
  'POST recovery': SessionState;
  'POST accounts/recover': IssuedLink;
  'POST members/recover': IssuedLink;
  'POST setup': SessionState;
  'POST setup/organization': Organization;
  'POST password': NoContent;
  'GET invitation': OpenInvitation;
  'POST invitation': SessionState;
  'POST invitation/accept': NoContent;
  'POST oidc': { readonly url: string };
  'GET oidc/arrival': { readonly email: string };
  'POST oidc/join': { readonly to: string };
  'GET password-reset': OpenReset;
  'POST password-reset': SessionState;
  'POST accounts/reset-password': IssuedLink;

  'POST organizations': Organization;
  'PATCH organizations': Omit<Organization, 'requireSecondFactor'> & {
    readonly requireSecondFactor?: boolean;
  };
  'GET members': MemberList;
  'PATCH members': Member;
  'DELETE members': Member;
  'POST invitations': IssuedInvitation;
  [revocation: `POST invitations/${string}/revoke`]: RevokedInvitation;
  'GET keys': KeyList;
  'POST keys': IssuedKey;
  [revocation: `POST keys/${string}/revoke`]: RevokedKey;
  'GET audit': AuditPage;
  'GET search': Found;
  'GET attention': Attention;

  'GET apps': AppList;
  'POST apps': App;
  'PATCH apps': AppState;
  'GET channel': ChannelDetail;
  'GET channels': { readonly channels: readonly ListedChannel[] };
  'POST channels': Channel;
  'PATCH channels': ChangedChannel;
  'GET labels': LabelCounts;
  'GET releases': ChannelReleases;
  'POST releases': { readonly release: Release };
  'PATCH releases': { readonly release: ServingState };
  'DELETE releases': { readonly release: WithdrawnRelease };
  'POST releases/matching': MatchingDevices;
  'POST releases/rehearse': DryRunAnswer<UnpublishedRelease>;
  'POST releases/rehearse-promotion': DryRunAnswer<UnpublishedRelease>;
  'POST releases/rehearse-plan': PlanDryRunAnswer;
  'POST releases/rehearse-serving': ServingDryRunAnswer;
  'POST releases/promote': { readonly release: Release };
  'POST releases/retry': Answer<'RetriedAnswer'>;
  'GET releases/plan': PlanAndHealth;
  'POST releases/plan': { readonly plan: RolloutPlan };
  'PATCH releases/plan': { readonly plan: RolloutPlan };
  'GET releases/trouble': FailureBreakdown;
  'GET releases/adoption': { readonly adoption: ReleaseAdoption | null };
  'GET release': RenderedReleaseDetail;

  'GET stop': StopReach;
  'POST stop': { readonly stop: Stop };
  'POST resume': ResumedStop;

  'GET approvals': ApprovalPage;
  [reading: `GET approvals/${string}`]: ApprovalAnswer;
  [approval: `POST approvals/${string}/approve`]: ApprovalAnswer;
  [decline: `POST approvals/${string}/decline`]: ApprovalAnswer;

  'GET devices': DevicePage;
  'POST devices/purge': PurgedDevices;
  'GET devices/count': DeviceCount;
  'POST decisions': { readonly decisions: readonly BriefDecision[] };
  'GET device': ShownDevice;
  'GET decision': ExplainedDecision;
  'GET decision/told': Explanation;
  'GET fleet': FleetNow;
  'GET adoption': Adoption;

  'GET webhooks': WebhookDetail;
  'GET webhooks/enabled': EnabledWebhooks;
  'POST webhooks': IssuedWebhookSecret;
  'PATCH webhooks': AppWebhook;
  'POST webhooks/disable': DisabledWebhook;
  'GET ddi-credentials': DdiCredentialList;
  'POST gateway-tokens': IssuedGatewayToken;
  'POST gateway-tokens/revoke': RevokedKey;
  'POST ddi-secrets': DdiSecret;
  'POST ddi-secrets/remove': { readonly id: string };
  'GET destinations': { readonly destinations: readonly Destination[] };
  'POST destinations': IssuedDestination;
  'GET destinations/:id': Destination;
  [change: `PATCH destinations/${string}`]: IssuedDestination;
  [removal: `DELETE destinations/${string}`]: { readonly id: string };
  [test: `POST destinations/${string}/test`]: SentDelivery;
  [link: `POST destinations/${string}/link`]: Destination;
  'GET confirmation': OfferedMail;
  'POST confirmation': NoContent;
  [rotation: `POST destinations/${string}/rotate`]: { readonly secret: string };
  [page: `GET destinations/${string}/deliveries`]: DeliveryPage;
  [repetition: `POST destinations/${string}/send-again`]: SentDelivery;
  'POST secrets/reseal': ResealedSecrets;
  'GET edge-tokens': { readonly edgeTokens: readonly ListedEdgeToken[] };
  'POST edge-tokens': IssuedEdgeToken;
  'POST edge-tokens/revoke': RevokedEdgeToken;
  'POST backup': { readonly directory: string };
};

type ApprovalAnswer = { readonly approval: Approval };

/** Answer of one endpoint; a path parameter may have any value, such as `:id`. */
export type ConsoleAnswer<Endpoint extends string> = Endpoint extends keyof ConsoleAnswers
  ? ConsoleAnswers[Endpoint]
  : never;

/** Event data by event name for each endpoint below `/console/api/` that sends events. */
export type ConsoleEvents = { readonly live: LiveEvents };

export type NoContent = Readonly<Record<string, never>>;

/** Options that a browser passes to `navigator.credentials`, as JSON (WebAuthn). */
export type PasskeyOptions = object;

export type SessionState =
  | {
      /** The password was correct; a passkey is required as well. */
      readonly state: 'secondFactor';
      readonly options: PasskeyOptions;
      readonly signIn?: never;
    }
  | {
      /** `setup` until an account and an organization exist. */
      readonly state: 'setup' | 'signedOut';
      /** Absent if no OpenID Connect provider is set. */
      readonly signIn?: SignInWays;
    }
  | {
      readonly state: 'signedIn';
      /** Absent for the operator, whom the admin token identifies. */
      readonly account?: Account | undefined;
      readonly memberships: readonly Membership[];
      /** Whether this account may create organizations; absent if not. */
      readonly mayCreateOrganizations?: true;
      readonly signIn?: SignInWays;
      /** False if the account has no password; absent if it has one. */
      readonly hasPassword?: false;
      /** Whether the admin token makes this account the owner of the first organization; absent if not. */
      readonly awaitsSetUp?: true;
    };

/** An invitation as the holder of its token sees it. */
export type OpenInvitation = {
  readonly organization: Organization;
  readonly role: Role;
  readonly email: string;
};

/** A link for a password or for lost passkeys, as the holder of its token sees it. */
export type OpenReset = { readonly email: string };

/** Passkeys of the account; `unavailable` says why none can be added or used here. */
type PasskeyList = { readonly passkeys: readonly Passkey[]; readonly unavailable?: string };

/** A new link for a password or for lost passkeys; shown only once. */
export type IssuedLink = { readonly url: string; readonly expiresAt: string };

export type MemberList = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

/** A new invitation with its link; shown only once. */
export type IssuedInvitation = {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
};

export type RevokedInvitation = { readonly id: string };

type KeyList = { readonly keys: readonly ListedKey[] };

/** A new key with its secret; shown only once. */
export type IssuedKey = ApiKey & { readonly secret: string };

export type RevokedKey = { readonly id: string; readonly revokedAt: string };

export type AuditPage = {
  readonly entries: readonly AuditEntry[];
  /** Cursor of the next page; null on the last. */
  readonly next: string | null;
};

export type AppList = { readonly apps: readonly AppOverview[] };

export type AppOverview = AppState & {
  readonly devices: number;
  /** Devices seen in the last day; an estimate for many. */
  readonly devicesDay: number;
  readonly channels: readonly ChannelOverview[];
};

export type ChannelOverview = ChannelFacts & {
  readonly name: string;
  readonly releases: number;
  /** Channel whose releases its devices are offered as well; null if there is none. */
  readonly follows: string | null;
  /** Release with the highest version. */
  readonly newest: NewestRelease | null;
  readonly standing: ChannelStanding;
};

/** Fields of a channel that the overview shows beside its standing. */
export type ChannelFacts = {
  readonly devices: number;
  /** Devices that run the version of the newest release. */
  readonly onNewest: number;
  /** Open plan; of several, the one of the highest version; null if there is none. */
  readonly plan: ChannelPlan | null;
};

export type ChannelPlan = Pick<RolloutPlan, 'version' | 'status' | 'nextAt' | 'waitingFor'> & {
  /** Rollout of its next step; null after the last one. */
  readonly nextRollout: number | null;
  /** Signals whose guards have tripped. */
  readonly tripped: readonly Signal[];
  readonly isGuarded: boolean;
};

export type NewestRelease = Pick<Release, 'version' | 'status' | 'rolloutPct' | 'createdAt'> & {
  readonly standing: ReleaseStanding;
};

/** Channel after a change of its settings. */
export type ChangedChannel = Channel & {
  /** Warnings about the settings; absent if there are none. */
  readonly findings?: readonly Finding[];
};

export type ChannelDetail = Channel & {
  readonly standing: ChannelStanding;
  readonly devices: number;
  /** Devices seen in the last day; an estimate for many. */
  readonly devicesDay: number;
  /** URL that redirects people to a download for their platform. */
  readonly downloadUrl: string;
};

/** Labels of an app's devices, the most frequent keys and values first. */
export type LabelCounts = {
  readonly keys: readonly LabelKey[];
  /** Whether the counts are estimates from a sample, which may miss rare labels. */
  readonly sampled: boolean;
};

type LabelKey = {
  readonly key: string;
  readonly values: readonly { readonly value: string; readonly devices: number }[];
};

/** Fields of a release that its row in the list and its own page share. */
export type ReleaseHead = {
  readonly id: string;
  readonly version: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  /** Whether any device was offered it: from then on, its serving may only widen. */
  readonly offered: boolean;
  readonly createdAt: string;
};

export type ListedRelease = ReleaseHead & {
  readonly artifacts: number;
  /** Number of devices on this channel that run it. */
  readonly devices: number;
  /** Its open plan; null if there is none. */
  readonly plan: ListedPlan | null;
  readonly standing: ReleaseStanding;
};

export type ListedPlan = {
  readonly status: PlanStatus;
  /** Verdict of the signals; null in a list with too many plans to judge. */
  readonly verdict: Health['verdict'] | null;
  readonly next: NextStep | null;
};

/** Next step that a plan takes by itself; null while it is held, and after its last step. */
export type NextStep = {
  readonly rollout: number;
  /** RFC 3339; null if unknown, as while it waits for a guard. */
  readonly at: string | null;
};

/** Newest plan of a release, null if it never had one, and the health from check-ins. */
export type PlanAndHealth = { readonly plan: RolloutPlan | null; readonly health: Health };

export type ChannelReleases = {
  readonly releases: readonly ListedRelease[];
  readonly total: number;
  /** Number of devices on the channel. */
  readonly fleet: number;
  readonly page: number;
  readonly pageCount: number;
};

/** Release from the ledger, without its standing (which needs the catalog), with its last status change. */
export type Unjudged<Release extends { readonly standing: ReleaseStanding }> = Omit<
  Release,
  'standing'
> & { readonly change: StatusChange | null };

export type ReleaseDetail = {
  readonly release: ReleaseHead & {
    readonly notes: string;
    /** Whether it came through an API, or from a webhook. */
    readonly source: 'api' | 'webhook';
    /** What a release from a webhook waits for before it is published: files, or a person; else null. */
    readonly hold: 'expecting' | 'by-hand' | null;
    readonly artifacts: readonly Artifact[];
  };
  readonly standing: ReleaseStanding;
  /** Numbers of devices on the release's channel. */
  readonly devices: {
    /** Devices that run it. */
    readonly on: number;
    /** Devices whose last offer it was. */
    readonly offered: number;
    /** Devices among `offered` that do not run it. */
    readonly offeredNotOn: number;
    readonly offeredIsEstimate: boolean;
    /** Time of the latest of those offers, RFC 3339; null if there is none. */
    readonly lastOfferedAt: string | null;
    /** Devices that run a lower version. */
    readonly below: number;
    readonly fleet: number;
  };
  readonly history: readonly AuditEntry[];
};

/** A release's page, with its notes also as HTML that the service has rendered and sanitised. */
export type RenderedReleaseDetail = Omit<ReleaseDetail, 'release'> & {
  readonly release: ReleaseDetail['release'] & { readonly notesHtml: string };
};

/** Devices of a channel seen in the last 30 days, and those that a targeting matches. */
export type MatchingDevices = {
  readonly devices: number;
  readonly matching: number;
  /** Whether the numbers are estimates from a sample. */
  readonly isEstimate: boolean;
  /** Ids of up to 5 matching devices. */
  readonly examples: readonly string[];
};

/** Webhook of an app with the URL that its code host delivers to. */
export type AppWebhook = Webhook & { readonly url: string };

/** An app's release webhooks with their last deliveries, newest first. */
export type WebhookDetail = {
  /** Whether any is enabled. The next three fields are of the first enabled webhook, else of the first. */
  readonly enabled: boolean;
  /** Code host; null, as `createdAt` is, until a webhook is enabled for the first time. */
  readonly provider: Webhook['provider'] | null;
  /** URL that the provider delivers to. */
  readonly url: string;
  readonly createdAt: string | null;
  /** One for each code host that was ever enabled. */
  readonly webhooks: readonly AppWebhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

/** The apps of an organization with an enabled webhook, by ref. */
export type EnabledWebhooks = {
  readonly apps: readonly ({ readonly ref: string; readonly name: string } & WebhookDetail)[];
};

/** Results of a search in an organization, a bounded number of each kind, the best first. */
export type Found = {
  readonly apps: readonly { readonly ref: string; readonly name: string }[];
  readonly releases: readonly (Pick<Release, 'app' | 'channel' | 'version' | 'status'> & {
    readonly rolloutPct: number;
  })[];
  readonly devices: readonly { readonly app: string; readonly deviceId: string }[];
};

/** URL and secret of a webhook that was just enabled; the secret is shown only once. */
export type IssuedWebhookSecret = { readonly url: string; readonly secret: string };

/** Whether the app still has an enabled webhook. */
export type DisabledWebhook = { readonly enabled: boolean };

type SentDelivery = { readonly delivery: NotificationDelivery };

/** Deliveries to a destination, newest first; `next` is the cursor of the next page, null on the last. */
export type DeliveryPage = {
  readonly deliveries: readonly NotificationDelivery[];
  readonly next: string | null;
};

/** Number of secrets that a call has encrypted again under the first key. */
export type ResealedSecrets = {
  readonly resealed: number;
  /** Number of secrets that no key decrypts. */
  readonly unreadable: number;
  /** Cursor of the webhook, destination or secret after which the next call continues; null at the end. */
  readonly next: string | null;
};
