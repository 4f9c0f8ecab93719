// The part of the ledger that keeps release webhooks: the integration of each app and its last deliveries.
// The obligations of `ledger.ts` hold here too.

import type { Failure, LostRight, Outcome, UnknownRelease } from '../contract/failure.ts';
import type { Release, Webhook, WebhookDelivery, WebhookSettings } from '../contract/resource.ts';
import type { Actor } from './actor.ts';
import type { Changed } from './changed.ts';
import type { KnownStates } from './known-state.ts';
import type { NewArtifact } from './new-artifact.ts';
import type { ReleaseName } from './release-name.ts';

/** Enabled webhook of an app. */
export type EnabledWebhook = {
  readonly appId: string;
  readonly appRef: string;
  readonly organizationId: string;
  /** Sealed secret as it was given to `enableWebhook`. */
  readonly sealedSecret: string;
  /** Time at which the webhook got this secret; only for comparison with itself. */
  readonly enabledAt: string;
} & WebhookSettings;

/** Sealed secret of an enabled webhook. */
export type SealedSecret = Pick<EnabledWebhook, 'appId' | 'sealedSecret'>;

/** Sealed secret of an app, and the same one sealed anew. */
export type ResealedSecret = {
  readonly appId: string;
  readonly from: string;
  readonly to: string;
};

/** Files that an event announces. */
export type AnnouncedAssets = {
  readonly artifacts: readonly NewArtifact[];
  /** Time of the event, RFC 3339; undefined where the code host gives none. */
  readonly at: string | undefined;
  /** Whether a release that waits for its files has all of them. */
  readonly isComplete: (artifacts: readonly NewArtifact[]) => boolean;
};

export type CallBack = { readonly at: string | undefined; readonly reason: string };

/** What became of a release that was called back. */
export type CalledBack = 'paused' | 'unserved' | 'not-announced' | 'older';

export type NewDelivery = Omit<WebhookDelivery, 'id' | 'at'>;

export interface WebhookLedger {
  /** Enables the app's webhook with this secret; an enabled webhook gets the new secret. */
  enableWebhook(
    appId: string,
    webhook: { readonly provider: Webhook['provider']; readonly sealedSecret: string },
    actor: Actor,
  ): Promise<Outcome<Webhook, LostRight>>;

  /** Disables the app's webhook and deletes its secret. A missing or disabled webhook is left as it is. */
  disableWebhook(appId: string, actor: Actor): Promise<Outcome<Webhook | undefined, LostRight>>;

  /** Finds the enabled webhook of an app by the app's ref or id, in any organization. */
  findEnabledWebhook(
    app: string,
    provider: Webhook['provider'],
  ): Promise<EnabledWebhook | undefined>;

  /** Lists the sealed secrets of the enabled webhooks by app id, from the one after `after`. */
  listSealedSecrets(after: string | undefined, countMax: number): Promise<readonly SealedSecret[]>;

  /**
   * Replaces those sealed secrets that are still `from`, and returns how many. The webhooks stay what they
   * are, `enabledAt` included: deliveries that are on their way count.
   */
  replaceSealedSecrets(changes: readonly ResealedSecret[]): Promise<number>;

  /** Reads the app's webhook, enabled or not, with its last deliveries, newest first. */
  readWebhook(appId: string): Promise<{
    readonly webhook: Webhook | undefined;
    readonly deliveries: readonly WebhookDelivery[];
  }>;

  /** Records a delivery to the actor's app and deletes the app's oldest ones beyond the bound. */
  recordDelivery(
    delivery: NewDelivery,
    actor: Extract<Actor, { kind: 'integration' }>,
  ): Promise<Failure<LostRight> | undefined>;

  /**
   * Merges what an event announces into a release that came from a webhook and was never offered, and returns
   * the release. `changed` is empty when the release stays as it is, and when the event is older than the
   * last one that was taken.
   */
  completeRelease(
    organizationId: string,
    name: ReleaseName,
    announced: AnnouncedAssets,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<Release>, UnknownRelease | 'channelFull' | LostRight>>;

  /**
   * Pauses a release that came from a webhook and that its code host has called back; it is published by hand
   * only from then on. `changed` is empty when it is not served anyway, came from elsewhere, or when the
   * event is older than the last one that was taken.
   */
  callBackRelease(
    organizationId: string,
    name: ReleaseName,
    call: CallBack,
    actor: Actor,
    known?: KnownStates,
  ): Promise<Outcome<Changed<CalledBack>, UnknownRelease | LostRight>>;
}
