// Administration of release webhooks: enabling, disabling and listing deliveries; and finding the secret that
// a delivery must be signed with.

import { randomBytes } from 'node:crypto';
import type {
  DisabledWebhook,
  IssuedWebhookSecret,
  WebhookDetail,
} from '../../contract/console.ts';
import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import { isRef } from '../../contract/ref.ts';
import type { Webhook } from '../../contract/resource.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { EnabledWebhook } from '../../ports/webhook-ledger.ts';
import type { SecretBox } from './secret-box.ts';

export type WebhooksDependencies = {
  readonly ledger: Ledger;
  /** Encryption of secrets; undefined without SECRET_KEY, in which case no webhook can be enabled. */
  readonly box: SecretBox | undefined;
  /** Returns the base URL of the service without a trailing slash; it is known once the service listens. */
  readonly address: () => string;
  readonly log: RareLog;
};

/** Webhook with the secret that its deliveries must be signed with. */
export type OpenWebhook = Omit<EnabledWebhook, 'sealedSecret'> & {
  readonly secret: string;
  /** Request of the delivery that it was opened for. */
  readonly requestId?: string | undefined;
};

const SECRET_BYTES = 32;
/**
 * Maximum number of concurrent look-ups, so that invented deliveries cannot take all database connections.
 */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

export class Webhooks {
  private readonly dependencies: WebhooksDependencies;
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(dependencies: WebhooksDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Enables the app's webhook, or replaces its secret: the old one is invalid from then on. The secret is
   * contained in this answer only. Without SECRET_KEY no webhook can be enabled.
   */
  async enable(
    app: string,
    provider: Webhook['provider'],
    actor: Actor,
  ): Promise<Outcome<IssuedWebhookSecret, 'secretKeyMissing' | LostRight>> {
    const { ledger, box } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    if (box === undefined) return fail('secretKeyMissing');
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const sealedSecret = box.seal(secret, ownerOf(found.id));
    const enabled = await ledger.enableWebhook(found.id, { provider, sealedSecret }, actor);
    return isFailure(enabled) ? enabled : { url: this.url(provider, found.id), secret };
  }

  /** Disables the app's webhook and deletes its secret; a webhook that was never enabled stays disabled. */
  async disable(app: string, actor: Actor): Promise<Outcome<DisabledWebhook, LostRight>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    const disabled = await ledger.disableWebhook(found.id, actor);
    return isFailure(disabled) ? disabled : { enabled: false };
  }

  /** Returns the webhook without its secret, and its last deliveries, newest first. */
  async show(app: string): Promise<Outcome<WebhookDetail, 'unknownApp'>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    const { webhook, deliveries } = await ledger.readWebhook(found.id);
    return {
      enabled: webhook?.enabled ?? false,
      provider: webhook?.provider ?? null,
      url: this.url(webhook?.provider ?? 'github', found.id),
      createdAt: webhook?.createdAt ?? null,
      deliveries,
    };
  }

  /**
   * Returns the webhook that a delivery to this app is for. `unknownApp` also when the app's webhook is off.
   * `webhookUnreadable` when the secret cannot be read with this SECRET_KEY, which an operator has to mend:
   * as `badSignature` it would look as if the sender were at fault.
   */
  async open(
    app: string,
    provider: Webhook['provider'],
    requestId?: string,
  ): Promise<Outcome<OpenWebhook, 'unknownApp' | 'webhookUnreadable'>> {
    if (!isRef(app)) return fail('unknownApp');
    const { ledger, box, log } = this.dependencies;
    const found = await this.gate.pass(() => ledger.findEnabledWebhook(app, provider));
    if (found === undefined) return fail('unknownApp');
    const { sealedSecret, ...webhook } = found;
    const opened = box?.open(sealedSecret, ownerOf(webhook.appId));
    if (opened !== undefined) return { ...webhook, secret: opened.secret, requestId };
    const reason = box === undefined ? 'SECRET_KEY is not set' : 'SECRET_KEY is another one';
    const details = { app: webhook.appRef, reason, requestId };
    log.warn(details, 'webhook secret cannot be read, delivery refused');
    return fail('webhookUnreadable');
  }

  private url(provider: Webhook['provider'], appId: string): string {
    return `${this.dependencies.address()}/wh/${provider}/${appId}`;
  }
}

/**
 * Owner under which a webhook's secret is sealed, so that the secret of another app cannot be decrypted in
 * its place.
 */
export function ownerOf(appId: string): string {
  return `webhook:${appId}`;
}
