// SQL implementation of the part of the ledger that keeps release webhooks. Each method is one function of
// query/.

import type { WebhookLedger } from '../webhook-ledger.ts';
import { announceRelease } from './announced-releases.ts';
import { callBackRelease } from './call-back-release.ts';
import type { Database } from './database.ts';
import { disableWebhooks } from './disable-webhooks.ts';
import { findEnabledWebhook } from './find-enabled-webhook.ts';
import { readEnabledWebhooks } from './read-enabled-webhooks.ts';
import { readWebhooks } from './read-webhooks.ts';
import { recordDelivery } from './record-delivery.ts';
import { listSealedSecrets, replaceSealedSecrets } from './replace-sealed-secrets.ts';
import { updateWebhook } from './update-webhook.ts';
import { enableWebhook } from './webhooks.ts';

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
