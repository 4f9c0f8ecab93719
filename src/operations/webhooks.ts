// Release webhooks from the operator's side: on, off, and what arrived lately; and for a delivery the secret
// that it must be signed with.

import { randomBytes } from 'node:crypto';
import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { isRef } from '../contract/ref.ts';
import type { Webhook, WebhookDelivery } from '../contract/resource.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Actor, Ledger } from '../ports/ledger.ts';
import type { EnabledWebhook } from '../ports/webhook-ledger.ts';
import type { SecretBox } from './secret-box.ts';
import { Turnstile } from './turnstile.ts';

export type WebhooksDependencies = {
  readonly ledger: Ledger;
  /** Undefined without SECRET_KEY: then no webhook can be enabled. */
  readonly box: SecretBox | undefined;
  /** Where the service is called, without a slash at the end; known once it listens. */
  readonly address: () => string;
  readonly log: RareLog;
};

/** A webhook with the secret that its deliveries must be signed with. */
export type OpenWebhook = Omit<EnabledWebhook, 'sealedSecret'> & { readonly secret: string };

export type WebhookView = {
  readonly enabled: boolean;
  readonly provider: Webhook['provider'] | null;
  readonly url: string;
  /** When it was enabled for the first time. */
  readonly createdAt: string | null;
  readonly deliveries: readonly WebhookDelivery[];
};

const SECRET_BYTES = 32;
/** Strangers cause look-ups: these many at a time, so that they cannot take all connections. */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

export class Webhooks {
  private readonly dependencies: WebhooksDependencies;
  private readonly gate = new Turnstile(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(dependencies: WebhooksDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Turns the app's webhook on, or gives it a new secret: the old one verifies nothing from then on. The
   * answer is the only place where the secret ever stands. 404 unknown app, 409 without SECRET_KEY.
   */
  async enable(
    app: string,
    provider: Webhook['provider'],
    actor: Actor,
  ): Promise<Outcome<{ readonly url: string; readonly secret: string }>> {
    const { ledger, box } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    if (box === undefined) return fail('secretKeyMissing');
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const sealedSecret = box.seal(secret, ownerOf(found.id));
    const enabled = await ledger.enableWebhook(found.id, { provider, sealedSecret }, actor);
    return isFailure(enabled) ? enabled : { url: this.url(provider, found.id), secret };
  }

  /** Turns it off and forgets the secret; so is one that never was on. 404 unknown app. */
  async disable(app: string, actor: Actor): Promise<Outcome<{ readonly enabled: false }>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    const disabled = await ledger.disableWebhook(found.id, actor);
    return isFailure(disabled) ? disabled : { enabled: false };
  }

  /** The webhook without its secret, and its last deliveries, newest first. 404 unknown app. */
  async show(app: string): Promise<Outcome<WebhookView>> {
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
   * The webhook that a delivery to this app is for. 404 unknown app, or its webhook is off; 503 when the
   * secret cannot be read with this SECRET_KEY, which an operator has to mend: with a 401 it would look as
   * if the sender were at fault.
   */
  async open(app: string, provider: Webhook['provider']): Promise<Outcome<OpenWebhook>> {
    if (!isRef(app)) return fail('unknownApp');
    const { ledger, box, log } = this.dependencies;
    const found = await this.gate.pass(() => ledger.findEnabledWebhook(app, provider));
    if (found === undefined) return fail('unknownApp');
    const { sealedSecret, ...webhook } = found;
    const secret = box?.open(sealedSecret, ownerOf(webhook.appId));
    if (secret !== undefined) return { ...webhook, secret };
    const reason = box === undefined ? 'SECRET_KEY is not set' : 'SECRET_KEY is another one';
    log.warn({ app: webhook.appRef, reason }, 'webhook secret cannot be read, delivery refused');
    return fail('webhookUnreadable');
  }

  private url(provider: Webhook['provider'], appId: string): string {
    return `${this.dependencies.address()}/wh/${provider}/${appId}`;
  }
}

/** What a webhook's secret is sealed for: that of another app does not open in its place. */
function ownerOf(appId: string): string {
  return `webhook:${appId}`;
}
