// Routes `POST /wh/{provider}/{app}` for release events of code hosts (docs/contract.md 4.11 and 18). They
// check first whether the app has a webhook of this code host (404), then the signature (401), and read the
// event only after that. A delivery whose signature was not verified is counted, but not recorded.

import {
  SIGNATURE_HEADERS,
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
} from '../../contract/choice.ts';
import {
  type Failure,
  invalidField,
  isFailure,
  type Outcome,
  refuseSignature,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import {
  bindRepository,
  type ReceiveDependencies,
  type Received,
  type ReleaseEvent,
  receiveRelease,
} from '../../publishing/receive-release.ts';
import {
  integrationOf,
  isSignedWith,
  type OpenWebhook,
  readWebhookSignature,
  type Webhooks,
} from '../../publishing/webhooks.ts';
import type { NewDelivery } from '../../store/console-ledger.ts';
import type { BodyFailureKind, Exchange } from '../transport/exchange.ts';
import { failureReply, jsonReply, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { readPayload, readReleaseEvent, readRepository } from './read-release-event.ts';

export type WebhookDependencies = ReceiveDependencies & {
  readonly webhooks: Webhooks;
  readonly metrics: Metrics;
  readonly log: RareLog;
};

/** Result of a verified delivery, with the release event if it contains one. */
type Understood = {
  readonly result: Outcome<Received>;
  readonly event?: ReleaseEvent;
};

/** Header with the name of the event, as each code host's documentation spells it. */
const EVENT_HEADERS: Readonly<Record<WebhookProvider, string>> = {
  github: 'X-GitHub-Event',
  gitea: 'X-Gitea-Event',
  forgejo: 'X-Forgejo-Event',
};

/** Builds the routes to which code hosts deliver, one for each. */
export function webhookRoutes(dependencies: WebhookDependencies): readonly Route[] {
  return WEBHOOK_PROVIDERS.map((provider) => webhookRoute(dependencies, provider));
}

function webhookRoute(dependencies: WebhookDependencies, provider: WebhookProvider): Route {
  return {
    method: 'POST',
    path: `/wh/${provider}/:app`,
    bodyBytesMax: LIMIT.webhookBodyBytesMax,
    bodyBudget: 'unverified',
    handler: async (exchange) => {
      const app = exchange.params.get('app') ?? '';
      const { requestId } = exchange.notes;
      const webhook = await dependencies.webhooks.open(app, provider, requestId);
      if (isFailure(webhook)) return failureReply(webhook);
      const body = await verifiedBody(exchange, webhook);
      if (isFailure(body)) {
        dependencies.metrics.deliveries.add(body.failure);
        return failureReply(body);
      }
      return receive(dependencies, webhook, exchange, body);
    },
  };
}

/**
 * Returns the body once its signature is verified; 401 for a wrong signature. A malformed signature header is
 * refused before the body has arrived. GitHub signs the body; Gitea and Forgejo sign the event, which in a
 * form is the decoded field `payload`.
 */
async function verifiedBody(
  exchange: Exchange,
  { secret, provider }: OpenWebhook,
): Promise<Outcome<Buffer, BodyFailureKind | 'badSignature'>> {
  const header = exchange.headers.get(SIGNATURE_HEADERS[provider].toLowerCase());
  const signature = readWebhookSignature(provider, header);
  if (signature === undefined) return refuseSignature(provider);
  const body = await exchange.body;
  if (isFailure(body)) return body;
  const contentType = exchange.headers.get('content-type');
  const signed = provider === 'github' ? body : (readPayload(body, contentType) ?? body);
  return isSignedWith(secret, signed, signature) ? body : refuseSignature(provider);
}

async function receive(
  dependencies: WebhookDependencies,
  webhook: OpenWebhook,
  exchange: Exchange,
  body: Buffer,
): Promise<Reply> {
  const name = exchange.headers.get(EVENT_HEADERS[webhook.provider].toLowerCase());
  const { result, event } = await understand(dependencies, webhook, exchange, body, name);
  const outcome = isFailure(result) ? 'refused' : result.outcome;
  const lost = await record(dependencies, webhook, {
    event: name ?? '',
    action: event?.action ?? null,
    guid: exchange.headers.get(`x-${webhook.provider}-delivery`) ?? null,
    outcome,
    reason: (isFailure(result) ? result.message : result.reason) ?? null,
    version: (isFailure(result) ? undefined : result.release?.version) ?? null,
  });
  // The webhook was disabled, or got another secret, while the body was being received.
  if (lost !== undefined) {
    dependencies.metrics.deliveries.add(lost.failure === 'badSignature' ? lost.failure : 'refused');
    return failureReply(lost);
  }
  dependencies.metrics.deliveries.add(outcome);
  return isFailure(result) ? failureReply(result) : jsonReply(200, result);
}

async function understand(
  dependencies: ReceiveDependencies,
  webhook: OpenWebhook,
  { headers }: Exchange,
  body: Buffer,
  name: string | undefined,
): Promise<Understood> {
  if (name === undefined) {
    return { result: invalidField(EVENT_HEADERS[webhook.provider], 'Required') };
  }
  if (name === 'ping') {
    const repository = readRepository(body, headers.get('content-type'));
    const foreign = await bindRepository(dependencies, webhook, repository);
    return { result: foreign ?? { outcome: 'ignored', reason: 'ping' } };
  }
  if (name !== 'release') return { result: ignoredEvent(name) };
  const event: ReleaseEvent | Failure = readReleaseEvent(body, headers.get('content-type'));
  if (isFailure(event)) return { result: event };
  return { result: await receiveRelease(dependencies, webhook, event), event };
}

function ignoredEvent(name: string): Received {
  return { outcome: 'ignored', reason: `Event ${name.slice(0, 50)} is not about releases` };
}

/**
 * Records a delivery; returns the refusal if the webhook no longer has the secret that signed the delivery. A
 * delivery takes effect even if it cannot be recorded, because the list is only a convenience.
 */
async function record(
  { ledger, metrics, log }: WebhookDependencies,
  webhook: OpenWebhook,
  delivery: NewDelivery,
): Promise<Failure | undefined> {
  try {
    return await ledger.recordDelivery(delivery, integrationOf(webhook));
  } catch (error) {
    metrics.faults.add('deliveries');
    const { appRef: app, provider, requestId } = webhook;
    const details = { err: error, app, provider, requestId };
    log.warn(details, 'webhook delivery could not be recorded');
    return undefined;
  }
}
