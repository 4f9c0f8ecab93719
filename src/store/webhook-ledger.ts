// The part of the ledger that keeps release webhooks: the integration of each app and its last deliveries.
// The obligations of `ledger.ts` hold here too.

import type { Failure, LostRight, Outcome } from '../contract/failure.ts';
import type {
  Release,
  ReleaseStatus,
  Webhook,
  WebhookDelivery,
  WebhookSettings,
} from '../contract/resource.ts';
import type { WebhookProvider } from '../contract/webhook-provider.ts';
import type { Announcement, LeftAlone, ReleaseHold } from '../domain/release/announcement.ts';
import type { CallBack, CalledBack } from '../domain/release/call-back.ts';
import type { Changed } from './changed.ts';
import type { KnownStates } from './known-state.ts';
import type { Actor } from './ledger-terms.ts';
import type { NewArtifact } from './new-artifact.ts';
import type { ReleaseName } from './release-name.ts';

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
      readonly isCalledBack: boolean;
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

/** Event that calls a release back. */
export type NewCallBack = CallBack & { readonly reason: string };

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
   * Pauses the release that its code host has called back (`takeCallBack`), and remembers the event, so that
   * an announcement which arrives after it does nothing. The value says what became of the release;
   * undefined when there is none.
   */
  callBackRelease(
    organizationId: string,
    name: ReleaseName,
    call: NewCallBack,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<CalledBack | undefined>, 'unknownApp' | 'unknownChannel' | LostRight>>;
}
