// Answers of the console API: the one description that the ledger's ports, the routes and the browser import.
// A field that is renamed here, or anywhere on its way to the page, does not compile on the other side.

import type {
  Adoption,
  DeviceDetail,
  DevicePage,
  ExplainedDecision,
  FleetNow,
  LiveEvents,
  PurgedDevices,
} from './console-fleet.ts';
import type {
  DryRunAnswer,
  PlanDryRunAnswer,
  ServingDryRunAnswer,
  UnpublishedRelease,
} from './dry-run.ts';
import type { IssuedEdgeToken, ListedEdgeToken, RevokedEdgeToken } from './edge-token.ts';
import type { Explanation } from './explanation.ts';
import type { FailureBreakdown, ReleaseAdoption } from './failure-breakdown.ts';
import type {
  Account,
  ApiKey,
  App,
  AppState,
  Artifact,
  AuditEntry,
  Channel,
  Invitation,
  ListedChannel,
  ListedKey,
  Member,
  Membership,
  Organization,
  Release,
  ReleaseStatus,
  Role,
  ServingState,
  Targeting,
  Webhook,
  WebhookDelivery,
  WithdrawnRelease,
} from './resource.ts';
import type { Health, PlanStatus, RolloutPlan } from './rollout-plan.ts';

/** Answer of each endpoint below `/console/api/`, by its method and path. */
export type ConsoleAnswers = {
  'GET session': SessionState;
  'POST session': SessionState;
  'DELETE session': NoContent;
  'DELETE sessions': NoContent;
  'POST setup': SessionState;
  'POST password': NoContent;
  'GET invitation': OpenInvitation;
  'POST invitation': SessionState;
  'GET password-reset': OpenReset;
  'POST password-reset': SessionState;
  'POST accounts/reset-password': IssuedReset;

  'POST organizations': Organization;
  'PATCH organizations': Organization;
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

  'GET apps': AppList;
  'POST apps': App;
  'PATCH apps': AppState;
  'GET channel': ChannelDetail;
  'GET channels': { readonly channels: readonly ListedChannel[] };
  'POST channels': Channel;
  'PATCH channels': Channel;
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
  'GET releases/plan': PlanAndHealth;
  'POST releases/plan': { readonly plan: RolloutPlan };
  'PATCH releases/plan': { readonly plan: RolloutPlan };
  'GET releases/trouble': FailureBreakdown;
  'GET releases/adoption': { readonly adoption: ReleaseAdoption | null };
  'GET release': RenderedReleaseDetail;

  'GET devices': DevicePage;
  'POST devices/purge': PurgedDevices;
  'GET device': DeviceDetail;
  'GET decision': ExplainedDecision;
  'GET decision/told': Explanation;
  'GET fleet': FleetNow;
  'GET adoption': Adoption;

  'GET webhooks': WebhookDetail;
  'GET webhooks/enabled': EnabledWebhooks;
  'POST webhooks': IssuedWebhookSecret;
  'PATCH webhooks': AppWebhook;
  'POST webhooks/disable': DisabledWebhook;
  'POST secrets/reseal': ResealedSecrets;
  'GET edge-tokens': { readonly edgeTokens: readonly ListedEdgeToken[] };
  'POST edge-tokens': IssuedEdgeToken;
  'POST edge-tokens/revoke': RevokedEdgeToken;
  'POST backup': { readonly directory: string };
};

/** Answer of one endpoint; a path parameter may be spelled as anything, such as `:id`. */
export type ConsoleAnswer<Endpoint extends string> = Endpoint extends keyof ConsoleAnswers
  ? ConsoleAnswers[Endpoint]
  : never;

/** Events that an endpoint below `/console/api/` sends, by its path: their data by their names. */
export type ConsoleEvents = { readonly live: LiveEvents };

/** An empty object. */
export type NoContent = Readonly<Record<string, never>>;

export type SessionState =
  | {
      /** `setup` until the first account exists. */
      readonly state: 'setup' | 'signedOut';
    }
  | {
      readonly state: 'signedIn';
      /** Absent for the operator, whom the admin token identifies. */
      readonly account?: Account | undefined;
      readonly memberships: readonly Membership[];
      /** Whether this account may create organizations; absent when it may not. */
      readonly mayCreateOrganizations?: true;
    };

/** An invitation as the holder of its token sees it. */
export type OpenInvitation = {
  readonly organization: Organization;
  readonly role: Role;
  readonly email: string;
};

/** A link that sets a new password, as the holder of its token sees it. */
export type OpenReset = { readonly email: string };

/** A new link that sets a password; it is shown this once. */
type IssuedReset = { readonly url: string; readonly expiresAt: string };

export type MemberList = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

/** A new invitation with its link, which is shown this once. */
export type IssuedInvitation = {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
};

export type RevokedInvitation = { readonly id: string };

type KeyList = { readonly keys: readonly ListedKey[] };

/** A new key with its secret, which is shown this once. */
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
  /** Devices seen in the last day; an estimate where there are many. */
  readonly devicesDay: number;
  readonly channels: readonly ChannelOverview[];
};

export type ChannelOverview = {
  readonly name: string;
  /** Number of releases. */
  readonly releases: number;
  /** Release with the highest version. */
  readonly newest: NewestRelease | null;
  /** Version that devices get which no release in `rolling` reaches; null when there is none. */
  readonly serving: string | null;
  /** Published releases above every release at 100 %, and not at 100 % themselves; highest version first. */
  readonly rolling: readonly RollingRelease[];
};

export type NewestRelease = Pick<Release, 'version' | 'status' | 'rolloutPct' | 'createdAt'> & {
  /** Whether it has any file that a device could install. */
  readonly hasArtifacts: boolean;
  /** Time at which it was rolled back, if it was; null where the audit does not tell. */
  readonly rolledBackAt: string | null;
};
export type RollingRelease = Pick<Release, 'version' | 'rolloutPct'>;

export type ChannelDetail = Channel & {
  readonly devices: number;
  /** Devices seen in the last day; an estimate where there are many. */
  readonly devicesDay: number;
  /** Address that leads people to a download for their platform. */
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
  /** Whether any device was offered it: from then on its serving only widens. */
  readonly offered: boolean;
  readonly createdAt: string;
};

export type ListedRelease = ReleaseHead & {
  /** Number of artifacts. */
  readonly artifacts: number;
  /** Number of devices on this channel that run it. */
  readonly devices: number;
  /** Its plan that is not over yet; null when there is none. */
  readonly plan: ListedPlan | null;
};

/** Plan of a release in a list. */
export type ListedPlan = {
  readonly status: PlanStatus;
  /** What the signals say; null where a list has so many plans that they are not judged. */
  readonly verdict: Health['verdict'] | null;
};

/** Newest plan of a release, null when it never had one, and what check-ins tell of the release. */
export type PlanAndHealth = { readonly plan: RolloutPlan | null; readonly health: Health };

/** One page of a channel's releases, highest version first. */
export type ChannelReleases = {
  readonly releases: readonly ListedRelease[];
  readonly total: number;
  /** Number of devices on the channel. */
  readonly fleet: number;
  readonly page: number;
  readonly pageCount: number;
};

export type ReleaseDetail = {
  readonly release: ReleaseHead & {
    readonly notes: string;
    /** Way in which it came: through an API, or announced by a webhook. */
    readonly source: 'api' | 'webhook';
    readonly artifacts: readonly Artifact[];
  };
  /** Higher version that every device is offered rather than this release; null when there is none. */
  readonly supersededBy: string | null;
  /** Numbers of devices on the release's channel. */
  readonly devices: {
    /** Devices that run it. */
    readonly on: number;
    /** Devices whose last offer it was. */
    readonly offered: number;
    readonly offeredIsEstimate: boolean;
    /** Time of the latest of those offers, RFC 3339; null when there is none. */
    readonly lastOfferedAt: string | null;
    /** Devices that run a lower version. */
    readonly below: number;
    readonly fleet: number;
  };
  readonly history: readonly AuditEntry[];
};

/** A release's page: its notes also as HTML, rendered and sanitised by the service. */
export type RenderedReleaseDetail = Omit<ReleaseDetail, 'release'> & {
  readonly release: ReleaseDetail['release'] & { readonly notesHtml: string };
};

/** Devices of a channel, seen in the last 30 days, that a targeting is meant for. */
export type MatchingDevices = {
  readonly devices: number;
  readonly matching: number;
  /** Whether the numbers were estimated from a sample. */
  readonly isEstimate: boolean;
  /** Ids of a few of them. */
  readonly examples: readonly string[];
};

/** Webhook of an app, and the address that its code host delivers to. */
export type AppWebhook = Webhook & { readonly url: string };

/** An app's release webhooks with their last deliveries, newest first. */
export type WebhookDetail = {
  /** Whether any of them is on. What follows is the first one that is, else the first one that was. */
  readonly enabled: boolean;
  /** Code host; null until a webhook is enabled for the first time, as `createdAt` is. */
  readonly provider: Webhook['provider'] | null;
  /** Address that the provider delivers to. */
  readonly url: string;
  readonly createdAt: string | null;
  /** One for each code host that was ever enabled. */
  readonly webhooks: readonly AppWebhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

/** The apps of an organization that have a webhook which is on, by ref. */
export type EnabledWebhooks = {
  readonly apps: readonly ({ readonly ref: string; readonly name: string } & WebhookDetail)[];
};

/** What a search in an organization found, each a bounded number, the best first. */
export type Found = {
  readonly apps: readonly { readonly ref: string; readonly name: string }[];
  readonly releases: readonly (Pick<Release, 'app' | 'channel' | 'version' | 'status'> & {
    readonly rolloutPct: number;
  })[];
  readonly devices: readonly { readonly app: string; readonly deviceId: string }[];
};

/** Address and secret of a webhook that was just enabled; the secret is shown this once. */
export type IssuedWebhookSecret = { readonly url: string; readonly secret: string };

/** Whether the app still has a webhook that is on. */
export type DisabledWebhook = { readonly enabled: boolean };

/** Webhook secrets that a call has sealed again under the first key. */
export type ResealedSecrets = {
  readonly resealed: number;
  /** Secrets that no key opens. */
  readonly unreadable: number;
  /** Webhook after which the next call goes on; null when there is nothing left to look at. */
  readonly next: string | null;
};
