// What the ledger keeps of release webhooks: the integration of each app, and what it delivered last. The
// same promises as everything else in the ledger: see `ledger.ts`.

import type { Outcome } from '../contract/failure.ts';
import type { Release, Webhook, WebhookDelivery } from '../contract/resource.ts';
import type { SnapshotArtifact } from '../domain/serving-snapshot.ts';
import type { Actor, Changed, ReleaseName } from './ledger.ts';

/** An app whose webhook is on. */
export type EnabledWebhook = {
  readonly appId: string;
  readonly appRef: string;
  readonly organizationId: string;
  /** As it was given to `enableWebhook`. */
  readonly sealedSecret: string;
};

export type NewDelivery = Omit<WebhookDelivery, 'id' | 'at'>;

export interface WebhookLedger {
  /** Turns the app's webhook on with this secret; one that is on gets the new secret. 404 unknown app. */
  enableWebhook(
    appId: string,
    webhook: { readonly provider: Webhook['provider']; readonly sealedSecret: string },
    actor: Actor,
  ): Promise<Outcome<Webhook>>;

  /** Turns it off and forgets its secret. No webhook, or one that is off, stays as it is. 404 unknown app. */
  disableWebhook(appId: string, actor: Actor): Promise<Outcome<Webhook | undefined>>;

  /** The enabled webhook of an app, by the app's ref or id, whatever its organization. */
  findEnabledWebhook(
    app: string,
    provider: Webhook['provider'],
  ): Promise<EnabledWebhook | undefined>;

  /** The app's webhook, on or off, with its last deliveries, newest first. */
  readWebhook(appId: string): Promise<{
    readonly webhook: Webhook | undefined;
    readonly deliveries: readonly WebhookDelivery[];
  }>;

  /** Adds a delivery, and forgets those of the app that are too old to be kept. */
  recordDelivery(appId: string, delivery: NewDelivery): Promise<void>;

  /**
   * The release as it is, after giving it these artifacts if it may still get some: it came from a webhook,
   * has none, and was never offered. Of several calls at once one completes it; `changed` is empty for the
   * others, and for whatever may not be completed. 404 unknown app, channel or release.
   */
  completeRelease(
    organizationId: string,
    name: ReleaseName,
    artifacts: readonly SnapshotArtifact[],
    actor: Actor,
  ): Promise<Outcome<Changed<Release>>>;
}
