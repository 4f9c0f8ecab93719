// Administration of release webhooks: enables, changes and disables them, lists deliveries, verifies their
// signatures, and encrypts secrets again after a change of SECRET_KEY.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { WEBHOOK_PROVIDERS, type WebhookProvider } from '../contract/choice.ts';
import type {
  AppWebhook,
  DisabledWebhook,
  EnabledWebhooks,
  IssuedWebhookSecret,
  ResealedSecrets,
  WebhookDetail,
} from '../contract/console.ts';
import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { isRef } from '../contract/ref.ts';
import type { Webhook } from '../contract/resource.ts';
import { resealDdiSecrets } from '../fleet/ddi-tokens.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { type DestinationSecretsLedger, resealDestinations } from '../notify/destinations.ts';
import type { SecretBox } from '../notify/secret-box.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type {
  AppWebhooks,
  EnabledWebhook,
  SecretPlace,
  WebhookChange,
  WebhookName,
} from '../store/console-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';

type WebhooksDependencies = {
  readonly ledger: Ledger;
  /** Encryption of secrets; undefined without SECRET_KEY: then no webhook can be enabled. */
  readonly box: SecretBox | undefined;
  /** Returns the base URL of the service without a trailing slash; known once the service listens. */
  readonly address: () => string;
  readonly log: RareLog;
};

/** Webhook with the secret that must sign its deliveries. */
export type OpenWebhook = Omit<EnabledWebhook, 'sealedSecret'> & {
  readonly secret: string;
  /** Id of the request with the delivery that the webhook was opened for. */
  readonly requestId?: string | undefined;
};

const SECRET_BYTES = 32;
/** Maximum number of concurrent look-ups, so that forged deliveries cannot take all database connections. */
const LOOKUPS_RUNNING_MAX = 3;
const LOOKUPS_WAITING_MAX = 1000;

export class Webhooks {
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(private readonly dependencies: WebhooksDependencies) {}

  /**
   * Enables the app's webhook of a code host with a new secret, which replaces a former one. Absent settings
   * stay as they were. Only this answer contains the secret. `secretKeyMissing` without SECRET_KEY.
   */
  async enable(
    app: string,
    provider: WebhookProvider,
    settings: WebhookChange,
    actor: Actor,
  ): Promise<Outcome<IssuedWebhookSecret>> {
    const { ledger, box } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    if (box === undefined) return fail('secretKeyMissing');
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    const sealedSecret = box.seal(secret, ownerOf({ appId: found.id, provider }));
    const webhook = { ...settings, provider, sealedSecret };
    const enabled = await ledger.enableWebhook(found.id, webhook, actor);
    return isFailure(enabled) ? enabled : { url: this.url({ provider, appId: found.id }), secret };
  }

  /** Changes the settings of an enabled webhook; `unknownWebhook` if it is not enabled. */
  async update(
    app: string,
    provider: WebhookProvider,
    change: WebhookChange,
    actor: Actor,
  ): Promise<Outcome<AppWebhook>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    const updated = await ledger.updateWebhook({ appId: found.id, provider }, change, actor);
    return isFailure(updated) ? updated : this.withUrl(updated, found.id);
  }

  /**
   * Disables the app's webhook of a code host, or all of the app, and deletes the secrets. `enabled` in the
   * answer says whether the app still has an enabled webhook.
   */
  async disable(
    app: string,
    provider: WebhookProvider | undefined,
    actor: Actor,
  ): Promise<Outcome<DisabledWebhook>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    const webhooks = await ledger.disableWebhooks(found.id, provider, actor);
    return isFailure(webhooks) ? webhooks : { enabled: webhooks.some(({ enabled }) => enabled) };
  }

  /** Returns the app's webhooks, without their secrets, and its last deliveries, newest first. */
  async show(app: string): Promise<Outcome<WebhookDetail>> {
    const { ledger } = this.dependencies;
    const found = await ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    return this.detailOf({ id: found.id, ...(await ledger.readWebhooks(found.id)) });
  }

  /** Returns what `show` does for every app of the organization with an enabled webhook. */
  async showEnabled(organizationId: string): Promise<EnabledWebhooks> {
    const apps = await this.dependencies.ledger.readEnabledWebhooks(organizationId);
    return {
      apps: apps.map(({ ref, name, ...app }) => ({ ref, name, ...this.detailOf(app) })),
    };
  }

  private detailOf({ id, webhooks, deliveries }: Omit<AppWebhooks, 'ref' | 'name'>): WebhookDetail {
    const byRank = WEBHOOK_PROVIDERS.flatMap((provider) =>
      webhooks.filter((each) => each.provider === provider),
    );
    const first = byRank.find(({ enabled }) => enabled) ?? byRank[0];
    return {
      enabled: first?.enabled ?? false,
      provider: first?.provider ?? null,
      url: this.url({ provider: first?.provider ?? 'github', appId: id }),
      createdAt: first?.createdAt ?? null,
      webhooks: byRank.map((webhook) => this.withUrl(webhook, id)),
      deliveries,
    };
  }

  /**
   * Returns the app's webhook of a code host with its secret decrypted, to verify a delivery. `unknownApp`
   * also if the webhook is disabled. `webhookUnreadable` if SECRET_KEY cannot decrypt the secret, which an
   * operator must fix: `badSignature` would blame the sender.
   */
  async open(
    app: string,
    provider: WebhookProvider,
    requestId?: string,
  ): Promise<Outcome<OpenWebhook>> {
    if (!isRef(app)) return fail('unknownApp');
    const { ledger, box, log } = this.dependencies;
    const found = await this.gate.pass(() => ledger.findEnabledWebhook(app, provider));
    if (found === undefined) return fail('unknownApp');
    const { sealedSecret, ...webhook } = found;
    const opened = box?.open(sealedSecret, ownerOf(webhook));
    if (opened !== undefined) return { ...webhook, secret: opened.secret, requestId };
    const reason = box === undefined ? 'SECRET_KEY is not set' : 'SECRET_KEY is another one';
    const details = { app: webhook.appRef, provider, reason, requestId };
    log.warn(details, 'webhook secret cannot be read, delivery refused');
    return fail('webhookUnreadable');
  }

  private withUrl(webhook: Webhook, appId: string): AppWebhook {
    return { ...webhook, url: this.url({ provider: webhook.provider, appId }) };
  }

  private url({ provider, appId }: WebhookName): string {
    return `${this.dependencies.address()}/wh/${provider}/${appId}`;
  }
}

/** Returns the actor of changes by a delivery to this webhook. */
export function integrationOf({
  appId,
  provider,
  enabledAt,
  requestId,
}: OpenWebhook): Extract<Actor, { kind: 'integration' }> {
  return { kind: 'integration', provider, appId, enabledAt, requestId };
}

/**
 * Returns the owner that a webhook's secret is encrypted for, so that the secret of another app or code host
 * cannot be decrypted in its place. GitHub's has no provider: the first secrets were all for GitHub.
 */
function ownerOf({ appId, provider }: WebhookName): string {
  return provider === 'github' ? `webhook:${appId}` : `webhook:${appId}/${provider}`;
}

// Verifies the signature of a webhook delivery, an HMAC-SHA-256. The older `X-Hub-Signature` is ignored,
// because its SHA-1 is broken.

/** GitHub's header names the algorithm before the digest; Gitea's and Forgejo's have only the digest. */
const FORMS: Readonly<Record<WebhookProvider, RegExp>> = {
  github: /^sha256=([0-9a-f]{64})$/i,
  gitea: /^([0-9a-f]{64})$/i,
  forgejo: /^([0-9a-f]{64})$/i,
};

/** Parses the digest of a code host's header; undefined if the header is malformed. */
export function readWebhookSignature(
  provider: WebhookProvider,
  header: string | undefined,
): Buffer | undefined {
  const digest = FORMS[provider].exec(header ?? '')?.[1];
  return digest === undefined ? undefined : Buffer.from(digest, 'hex');
}

/** Returns whether this secret signed these bytes; compares in constant time. */
export function isSignedWith(secret: string, signed: Buffer, signature: Buffer): boolean {
  const digest = createHmac('sha256', secret).update(signed).digest();
  return digest.length === signature.length && timingSafeEqual(digest, signature);
}

// Encrypts the secrets of webhooks, destinations and device tokens again under the first of several keys, so
// that an operator can remove the others. A call works for 2 seconds and returns a cursor for the next one.
// Repeating a call changes nothing, and deliveries are verified meanwhile.

type ResealDependencies = {
  readonly ledger: Pick<
    Ledger,
    'listSealedSecrets' | 'replaceSealedSecrets' | 'listDdiSecrets' | 'replaceDdiSecrets'
  > &
    DestinationSecretsLedger;
  /** Undefined without SECRET_KEY. */
  readonly box: SecretBox | undefined;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

/** Maximum number of secrets that one statement reads or replaces. */
const BATCH_MAX = 100;
/** Milliseconds after which a call begins no further batch, so that its answer comes soon. */
const WORK_MS_MAX = 2000;

export class ResealSecrets {
  private readonly now: () => number;

  constructor(private readonly dependencies: ResealDependencies) {
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Encrypts again the secrets after `after`, which is `next` of the previous answer, or undefined in the
   * first call. Counts secrets that no key decrypts, and leaves them. Rejects with `Unavailable` if the
   * ledger does not answer; the same call can then be repeated.
   */
  async reseal(after: string | undefined): Promise<Outcome<ResealedSecrets>> {
    const { box } = this.dependencies;
    if (box === undefined) return fail('secretKeyMissing');
    const end = this.now() + WORK_MS_MAX;
    let total: ResealedSecrets = { resealed: 0, unreadable: 0, next: after ?? null };
    do {
      const { resealed, unreadable, next } = await this.resealBatch(box, total.next ?? undefined);
      total = {
        resealed: total.resealed + resealed,
        unreadable: total.unreadable + unreadable,
        next,
      };
    } while (total.next !== null && this.now() < end);
    return total;
  }

  /**
   * Encrypts a batch again: webhooks first, by app and code host, then destinations, then secrets of device
   * tokens.
   */
  private async resealBatch(box: SecretBox, after: string | undefined): Promise<ResealedSecrets> {
    const { ledger } = this.dependencies;
    const [, kind, id = ''] = LATER.exec(after ?? '') ?? [];
    if (kind === undefined) return this.resealWebhooks(box, after);
    if (kind === 'destinations') {
      const { next, ...counts } = await resealDestinations(ledger, box, id, BATCH_MAX);
      return { ...counts, next: next ?? DEVICE_TOKENS };
    }
    const { next, ...counts } = await resealDdiSecrets(ledger, box, id, BATCH_MAX);
    return { ...counts, next: next && `${DEVICE_TOKENS}${next}` };
  }

  private async resealWebhooks(
    box: SecretBox,
    after: string | undefined,
  ): Promise<ResealedSecrets> {
    const { ledger } = this.dependencies;
    const batch = await ledger.listSealedSecrets(readCursor(after), BATCH_MAX);
    const opened = batch.map((row) => ({
      ...row,
      opened: box.open(row.sealedSecret, ownerOf(row)),
    }));
    const changes = opened.flatMap(({ appId, provider, sealedSecret, opened: found }) =>
      found === undefined || found.isUnderFirst
        ? []
        : [
            {
              appId,
              provider,
              from: sealedSecret,
              to: box.seal(found.secret, ownerOf({ appId, provider })),
            },
          ],
    );
    const resealed = changes.length === 0 ? 0 : await ledger.replaceSealedSecrets(changes);
    const unreadable = opened.filter((row) => row.opened === undefined).length;
    const last = batch.length < BATCH_MAX ? undefined : batch.at(-1);
    const next = last === undefined ? DESTINATIONS : `${last.appId}/${last.provider}`;
    return { resealed, unreadable, next };
  }
}

/** Cursors before the first destination and the first secret of device tokens; after one, its id follows. */
const DESTINATIONS = 'destinations/';
const DEVICE_TOKENS = 'device-tokens/';
const LATER = /^(destinations|device-tokens)\/(.*)$/s;

/** Parses a cursor of webhooks, `app/provider`; without a provider, it precedes the app's first webhook. */
function readCursor(after: string | undefined): SecretPlace | undefined {
  if (after === undefined) return undefined;
  const [appId = '', provider = ''] = after.split('/');
  return { appId, provider };
}
