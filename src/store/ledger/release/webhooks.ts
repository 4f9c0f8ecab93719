// SQL of release webhooks: settings, secrets and deliveries.

import type { WebhookProvider } from '../../../contract/choice.ts';
import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type Outcome,
} from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Webhook, WebhookDelivery, WebhookSettings } from '../../../contract/resource.ts';
import { isStorable, storableText } from '../../../contract/text.ts';
import type {
  AppWebhooks,
  EnabledWebhook,
  HostRepository,
  NewDelivery,
  ResealedSecret,
  SealedSecret,
  SecretPlace,
  WebhookChange,
  WebhookName,
} from '../../console-ledger.ts';
import type { Actor } from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { columns, isoText, jsonOrNull, WEBHOOK_COLUMNS } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';

const STORE = `
  INSERT INTO webhooks (app_id, provider, sealed_secret, tag_prefix, hold, expect)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (app_id, provider) DO UPDATE SET
    sealed_secret = excluded.sealed_secret, enabled_at = clock_timestamp(), disabled_at = NULL,
    tag_prefix = excluded.tag_prefix, hold = excluded.hold, expect = excluded.expect,
    repository_id = NULL, repository = NULL, other_repository = NULL, other_repository_at = NULL
  RETURNING ${WEBHOOK_COLUMNS}`;

/**
 * Enables the app's webhook of a code host with this secret; a webhook that is already enabled gets the new
 * secret. Settings that are not given stay as they were when it was last enabled. Stores the secret, the
 * settings and an audit entry without the secret in one transaction. From then on, deliveries of this code
 * host are verified with this secret alone.
 */
export function enableWebhook(
  database: Database,
  appId: string,
  webhook: Pick<SealedSecret, 'provider' | 'sealedSecret'> & WebhookChange,
  actor: Actor,
): Promise<Outcome<Webhook>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const { provider, sealedSecret } = webhook;
    const before = held.webhooks.find((each) => each.provider === provider);
    const settings = changeSettings(before ?? NO_SETTINGS, webhook);
    if (isFailure(settings)) return settings;
    const { tagPrefix, hold, expect } = settings;
    const rows = await sql.query<Webhook>(STORE, [
      ...[appId, provider, sealedSecret, tagPrefix, hold],
      jsonOrNull(expect),
    ]);
    if (rows[0] === undefined) throw new Error(`New webhook of ${appId} has no row`);
    await insertAudit(sql, {
      organizationId: held.organizationId,
      action: 'webhook.enable',
      subject: held.appRef,
      before: before === undefined ? null : webhookState(before),
      after: { ...webhookState(rows[0]), newSecret: true },
    });
    return rows[0];
  });
}

/**
 * Disables the app's webhook of one code host, or of all: deletes the secrets and writes an audit entry for
 * each, in one transaction. A disabled or missing webhook stays as it is. Returns all webhooks of the app.
 */
export function disableWebhooks(
  database: Database,
  appId: string,
  provider: WebhookProvider | undefined,
  actor: Actor,
): Promise<Outcome<readonly Webhook[]>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const { webhooks, organizationId, appRef } = held;
    const isMeant = (webhook: Webhook) =>
      webhook.enabled && (provider === undefined || webhook.provider === provider);
    for (const webhook of webhooks.filter(isMeant)) {
      await sql.query(
        `UPDATE webhooks SET disabled_at = clock_timestamp(), sealed_secret = NULL
         WHERE app_id = $1 AND provider = $2`,
        [appId, webhook.provider],
      );
      await insertAudit(sql, {
        organizationId,
        action: 'webhook.disable',
        subject: appRef,
        before: webhookState(webhook),
        after: webhookState({ ...webhook, enabled: false }),
      });
    }
    return webhooks.map((webhook) => (isMeant(webhook) ? { ...webhook, enabled: false } : webhook));
  });
}

const REPOSITORY = `CASE WHEN webhooks.repository IS NOT NULL THEN
  json_build_object('id', webhooks.repository_id, 'name', webhooks.repository) END`;

/** Condition that the repository ($4, $5) is the webhook's own, or may become it, because it has none. */
const IS_OWN = `(repository IS NULL OR repository_id = $4
  OR (repository_id IS NULL OR $4::bigint IS NULL) AND lower(repository) = lower($5))`;

/**
 * Binds a webhook without a repository to this one, and stores the new name of a renamed one. Records another
 * repository as `other_repository`. Returns the webhook's repository; null if it was disabled or got another
 * secret since `enabledAt`. One statement, so that of two concurrent first deliveries one binds it.
 */
export async function bindRepository(
  sql: Sql,
  { appId, provider, enabledAt }: WebhookName & Pick<EnabledWebhook, 'enabledAt'>,
  { id, name }: HostRepository,
): Promise<HostRepository | null> {
  const rows = await sql.query<{ repository: HostRepository }>(
    `UPDATE webhooks SET
       repository_id = CASE WHEN ${IS_OWN} THEN coalesce($4, repository_id) ELSE repository_id END,
       repository = CASE WHEN ${IS_OWN} THEN $5 ELSE repository END,
       other_repository = CASE WHEN ${IS_OWN} THEN other_repository ELSE $5 END,
       other_repository_at = CASE WHEN ${IS_OWN} THEN other_repository_at ELSE clock_timestamp() END
     WHERE app_id = $1 AND provider = $2 AND enabled_at = $3::timestamptz AND disabled_at IS NULL
     RETURNING ${REPOSITORY} AS repository`,
    [appId, provider, enabledAt, id, name],
  );
  return rows[0]?.repository ?? null;
}

/**
 * Finds the enabled webhook by the app's ref or id in any organization, because the sender of a delivery
 * proves itself by its signature. A ref wins over an id.
 */
export async function findEnabledWebhook(
  sql: Sql,
  app: string,
  provider: WebhookProvider,
): Promise<EnabledWebhook | undefined> {
  if (!isStorable(app)) return undefined;
  const rows = await sql.query<EnabledWebhook>(
    `SELECT app.id AS "appId", app.ref AS "appRef", app.organization_id AS "organizationId",
       webhooks.provider, webhooks.sealed_secret AS "sealedSecret",
       webhooks.enabled_at::text AS "enabledAt", webhooks.tag_prefix AS "tagPrefix",
       webhooks.hold, webhooks.expect, ${REPOSITORY} AS repository
     FROM (
       SELECT id, ref, organization_id FROM apps
       WHERE ref = $1 OR id = $1 ORDER BY (ref = $1) DESC LIMIT 1
     ) AS app
     JOIN webhooks ON webhooks.app_id = app.id
     WHERE webhooks.provider = $2 AND webhooks.disabled_at IS NULL`,
    [app, provider],
  );
  return rows[0];
}

type LockedWebhooks = {
  readonly organizationId: string;
  readonly appRef: string;
  readonly webhooks: readonly Webhook[];
};

/**
 * Locks the app's row until the transaction ends, because that row exists before the app's first webhook. So
 * changes of an app's webhooks run one after another. NO KEY UPDATE, so that publishing does not wait for it.
 */
export async function lockWebhooks(sql: Sql, appId: string): Promise<LockedWebhooks | Failure> {
  if (!isStorable(appId)) return fail('unknownApp');
  const [app] = await sql.query<Omit<LockedWebhooks, 'webhooks'>>(
    `SELECT organization_id AS "organizationId", ref AS "appRef"
     FROM apps WHERE id = $1 FOR NO KEY UPDATE`,
    [appId],
  );
  if (app === undefined) return fail('unknownApp');
  // A separate statement, so that it sees what the previous holder of the lock has committed.
  const webhooks = await sql.query<Webhook>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE app_id = $1 ORDER BY provider`,
    [appId],
  );
  return { ...app, webhooks };
}

/** Returns the apps with an enabled webhook, by ref, each with all its webhooks and last deliveries. */
export async function readEnabledWebhooks(
  sql: Sql,
  organizationId: string,
): Promise<readonly AppWebhooks[]> {
  const apps = await sql.query<Pick<AppWebhooks, 'id' | 'ref' | 'name'>>(
    `SELECT id, ref, name FROM apps
     WHERE organization_id = $1
       AND EXISTS (SELECT FROM webhooks WHERE app_id = apps.id AND disabled_at IS NULL)
     ORDER BY ref LIMIT ${LIMIT.appsShownMax}`,
    [organizationId],
  );
  const read = await readWebhooksOf(
    sql,
    apps.map(({ id }) => id),
  );
  return apps.map((app, index) => ({ ...app, webhooks: [], deliveries: [], ...read[index] }));
}

type Read = {
  readonly webhooks: readonly Webhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

/** Reads an app's webhooks, enabled or not, and its last deliveries, newest first. */
export async function readWebhooks(sql: Sql, appId: string): Promise<Read> {
  if (!isStorable(appId)) return { webhooks: [], deliveries: [] };
  const [read = { webhooks: [], deliveries: [] }] = await readWebhooksOf(sql, [appId]);
  return read;
}

/** Returns the webhooks and deliveries of each of these apps, in order. */
async function readWebhooksOf(sql: Sql, appIds: readonly string[]): Promise<readonly Read[]> {
  const webhooks = await sql.query<OfApp<Webhook>>(
    `SELECT app_id AS "appId", ${WEBHOOK_COLUMNS} FROM webhooks
     WHERE app_id = ANY ($1::text[]) ORDER BY provider`,
    [appIds],
  );
  const deliveries = await sql.query<OfApp<WebhookDelivery>>(
    `SELECT delivery.app_id AS "appId", ${DELIVERY_COLUMNS}
     FROM unnest($1::text[]) AS wanted (id)
     CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE app_id = wanted.id
       ORDER BY webhook_deliveries.id DESC LIMIT ${LIMIT.webhookDeliveriesKeptMax}
     ) AS delivery ORDER BY delivery.id DESC`,
    [appIds],
  );
  const [webhooksOf, deliveriesOf] = [byApp(webhooks), byApp(deliveries)];
  return appIds.map((id) => ({
    webhooks: webhooksOf.get(id) ?? [],
    deliveries: deliveriesOf.get(id) ?? [],
  }));
}

type OfApp<Row> = Row & { readonly appId: string };

function byApp<Row>(rows: readonly OfApp<Row>[]): ReadonlyMap<string, readonly Row[]> {
  const sorted = new Map<string, Row[]>();
  for (const { appId, ...row } of rows) {
    const own = sorted.get(appId);
    if (own === undefined) sorted.set(appId, [row as Row]);
    else own.push(row as Row);
  }
  return sorted;
}

const DELIVERY_COLUMNS = columns<WebhookDelivery>({
  id: 'delivery.id::text',
  at: isoText('delivery.at'),
  provider: 'provider',
  event: 'event',
  action: 'action',
  guid: 'guid',
  outcome: 'outcome',
  reason: 'reason',
  version: 'version',
});

/**
 * Changes the settings of an enabled webhook, with an audit entry, in one transaction. Its secret and
 * `enabled_at` stay, so that pending deliveries are still accepted; they follow the new settings. A change
 * without effect writes nothing.
 */
export function updateWebhook(
  database: Database,
  { appId, provider }: WebhookName,
  change: WebhookChange,
  actor: Actor,
): Promise<Outcome<Webhook>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const before = held.webhooks.find((each) => each.provider === provider && each.enabled);
    if (before === undefined) return fail('unknownWebhook');
    const settings = changeSettings(before, change);
    if (isFailure(settings)) return settings;
    const after = { ...before, ...settings };
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    const { tagPrefix, hold, expect } = settings;
    await sql.query(
      `UPDATE webhooks SET tag_prefix = $3, hold = $4, expect = $5
       WHERE app_id = $1 AND provider = $2`,
      [appId, provider, tagPrefix, hold, jsonOrNull(expect)],
    );
    await insertAudit(sql, {
      organizationId: held.organizationId,
      action: 'webhook.update',
      subject: held.appRef,
      before: webhookState(before),
      after: webhookState(after),
    });
    return after;
  });
}

/** Returns a webhook's state for the audit. */
function webhookState({ provider, enabled, tagPrefix, hold, expect }: Webhook): object {
  return { provider, enabled, tagPrefix, hold, expect };
}

/** Settings of a webhook that never had any. */
const NO_SETTINGS: WebhookSettings = { tagPrefix: null, hold: false, expect: null };

/**
 * Returns the settings after a change. `expect` needs `hold`: ending `hold` clears it, and setting it without
 * `hold` is refused.
 */
function changeSettings(before: WebhookSettings, change: WebhookChange): Outcome<WebhookSettings> {
  const hold = change.hold ?? before.hold;
  const kept = hold ? before.expect : null;
  const expect = change.expect === undefined ? kept : change.expect;
  if (expect !== null && !hold) return invalidField('expect', 'Only with hold');
  const tagPrefix = change.tagPrefix === undefined ? before.tagPrefix : change.tagPrefix;
  return { tagPrefix, hold, expect };
}

/** Maximum length of a stored text of a delivery, in UTF-16 code units. */
const TEXT_LENGTH_MAX = 200;

/**
 * Inserts the delivery and deletes the app's oldest ones beyond the limit. The deletion does not see the
 * inserted row, so it keeps one row less. Skips rows that another delivery is deleting.
 */
const RECORD_DELIVERY_STORE = `
  WITH stored AS (
    INSERT INTO webhook_deliveries (app_id, provider, event, action, guid, outcome, reason, version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  )
  DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE app_id = $1 AND id <= (
      SELECT id FROM webhook_deliveries WHERE app_id = $1
      ORDER BY id DESC OFFSET ${LIMIT.webhookDeliveriesKeptMax - 1} LIMIT 1
    ) FOR UPDATE SKIP LOCKED
  )`;

/**
 * Records a delivery to the actor's app, with its texts cut to `TEXT_LENGTH_MAX`; deletes the app's oldest
 * deliveries beyond the limit.
 */
export function recordDelivery(
  database: Database,
  delivery: NewDelivery,
  actor: Extract<Actor, { kind: 'integration' }>,
): Promise<Failure | undefined> {
  const { event, action, guid, outcome, reason, version } = delivery;
  const texts = [event, action, guid].map(cut);
  return atomically(database, actor, async (sql) => {
    await sql.query(RECORD_DELIVERY_STORE, [
      actor.appId,
      actor.provider,
      ...texts,
      outcome,
      cutSentence(reason),
      cut(version),
    ]);
    return undefined;
  });
}

function cut(text: string | null): string | null {
  return text === null ? null : storableText(text.slice(0, TEXT_LENGTH_MAX));
}

function cutSentence(text: string | null): string | null {
  const isWhole = text === null || text.length <= TEXT_LENGTH_MAX;
  return isWhole ? cut(text) : `${cut(text.slice(0, TEXT_LENGTH_MAX - 1))}…`;
}

/**
 * Replaces secrets that are still unchanged; returns how many. A webhook that got another secret or was
 * disabled keeps its state. `enabled_at` does not change, because the secret is the same and pending
 * deliveries belong to it. Of two operators who reseal at once, the second replaces nothing. Locks rows in
 * the order of their key, so that the two cannot deadlock.
 */
export async function replaceSealedSecrets(
  sql: Sql,
  changes: readonly ResealedSecret[],
): Promise<number> {
  const rows = await sql.query(
    `WITH held AS (
       SELECT webhooks.app_id, webhooks.provider, change.sealed
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
         AS change (app_id, provider, was, sealed)
       JOIN webhooks ON webhooks.app_id = change.app_id AND webhooks.provider = change.provider
         AND webhooks.sealed_secret = change.was
       ORDER BY webhooks.app_id, webhooks.provider FOR NO KEY UPDATE OF webhooks
     )
     UPDATE webhooks SET sealed_secret = held.sealed FROM held
     WHERE webhooks.app_id = held.app_id AND webhooks.provider = held.provider RETURNING 1`,
    [
      changes.map(({ appId }) => appId),
      changes.map(({ provider }) => provider),
      changes.map(({ from }) => from),
      changes.map(({ to }) => to),
    ],
  );
  return rows.length;
}

/**
 * Lists the sealed secrets of enabled webhooks in the order of the primary key, app and code host, beginning
 * after `after`.
 */
export function listSealedSecrets(
  sql: Sql,
  after: SecretPlace | undefined,
  countMax: number,
): Promise<readonly SealedSecret[]> {
  return sql.query<SealedSecret>(
    `SELECT app_id AS "appId", provider, sealed_secret AS "sealedSecret" FROM webhooks
     WHERE (app_id, provider) > ($1, $2) AND sealed_secret IS NOT NULL
     ORDER BY app_id, provider LIMIT $3`,
    [storableText(after?.appId ?? ''), storableText(after?.provider ?? ''), countMax],
  );
}
