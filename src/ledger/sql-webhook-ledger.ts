// SQL implementation of the part of the ledger that keeps release webhooks. Each method is one function of
// query/.

import type { WebhookLedger } from '../ports/webhook-ledger.ts';
import type { Database } from './database.ts';
import { announceRelease } from './query/announce-release.ts';
import { callBackRelease } from './query/call-back-release.ts';
import { disableWebhooks } from './query/disable-webhooks.ts';
import { enableWebhook } from './query/enable-webhook.ts';
import { findEnabledWebhook } from './query/find-enabled-webhook.ts';
import { readEnabledWebhooks } from './query/read-enabled-webhooks.ts';
import { readWebhooks } from './query/read-webhooks.ts';
import { recordDelivery } from './query/record-delivery.ts';
import { listSealedSecrets, replaceSealedSecrets } from './query/replace-sealed-secrets.ts';
import { updateWebhook } from './query/update-webhook.ts';

/** Creates the methods that keep release webhooks on a database. */
export function createSqlWebhookLedger(database: Database): WebhookLedger {
  return {
    enableWebhook: (appId, webhook, actor) => enableWebhook(database, appId, webhook, actor),
    updateWebhook: (name, change, actor) => updateWebhook(database, name, change, actor),
    disableWebhooks: (appId, provider, actor) => disableWebhooks(database, appId, provider, actor),
    findEnabledWebhook: (app, provider) => findEnabledWebhook(database, app, provider),
    listSealedSecrets: (after, countMax) => listSealedSecrets(database, after, countMax),
    replaceSealedSecrets: (changes) => replaceSealedSecrets(database, changes),
    readEnabledWebhooks: (organizationId) => readEnabledWebhooks(database, organizationId),
    readWebhooks: (appId) => readWebhooks(database, appId),
    recordDelivery: (delivery, actor) => recordDelivery(database, delivery, actor),
    announceRelease: (organizationId, announced, actor, known) =>
      announceRelease(database, organizationId, announced, actor, known),
    callBackRelease: (organizationId, name, call, actor, known) =>
      callBackRelease(database, organizationId, name, call, actor, known),
  };
}
