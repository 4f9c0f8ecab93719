// SQL of the credentials by which devices that speak DDI authenticate: gateway tokens, of which the ledger
// stores hashes, and sealed secrets, of which device tokens are made. The audit gets neither.

import type { RevokedKey } from '../../../contract/console.ts';
import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type {
  DdiCredentialList,
  DdiSecret,
  DeviceToken,
  GatewayToken,
} from '../../../contract/resource.ts';
import { isStorable, storableText } from '../../../contract/text.ts';
import type {
  AskedDeviceTokens,
  GatewayTokenUse,
  NewGatewayToken,
  ResealedDdiSecret,
  SealDdiSecret,
  StoredDdiCredentials,
  StoredDdiSecret,
} from '../../ddi-ledger.ts';
import { type Actor, actorText, type OwnedApp, type TenantScope } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { findApp } from '../change/channels.ts';
import { columns, isoText, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';

const TOKEN_COLUMNS = columns<GatewayToken>({
  id: 'id',
  name: 'name',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
  lastUsedAt: isoText('last_used_at'),
  revokedAt: isoText('revoked_at'),
});

const SECRET_COLUMNS = columns<DdiSecret>({
  id: 'id',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
});

/** Lists the newest gateway tokens of an app, revoked ones included, and its secrets. */
export async function listDdiCredentials(sql: Sql, appId: string): Promise<DdiCredentialList> {
  const gatewayTokens = await sql.query<GatewayToken>(
    `SELECT ${TOKEN_COLUMNS} FROM ddi_gateway_tokens WHERE app_id = $1
     ORDER BY id DESC LIMIT ${LIMIT.keysShownMax}`,
    [appId],
  );
  const secrets = await sql.query<DdiSecret>(
    `SELECT ${SECRET_COLUMNS} FROM ddi_secrets WHERE app_id = $1
     ORDER BY ddi_secrets.created_at DESC, id DESC`,
    [appId],
  );
  return { gatewayTokens, secrets };
}

/** Stores a new gateway token of an app, with its audit entry. */
export function createGatewayToken(
  database: Database,
  appId: string,
  { name, tokenHash }: NewGatewayToken,
  actor: Actor,
): Promise<Outcome<GatewayToken>> {
  return atomically(database, actor, async (sql) => {
    const app = await lockApp(sql, appId);
    if (isFailure(app)) return app;
    const there = await sql.query(
      'SELECT FROM ddi_gateway_tokens WHERE app_id = $1 AND revoked_at IS NULL',
      [appId],
    );
    if (there.length >= LIMIT.gatewayTokensMax) return fail('tooManyGatewayTokens');
    const id = newId('gwt');
    const [token] = await sql.query<GatewayToken>(
      `INSERT INTO ddi_gateway_tokens (id, app_id, name, token_hash, created_by)
       VALUES ($1, $2, $3, $4, $5) RETURNING ${TOKEN_COLUMNS}`,
      [id, appId, name, tokenHash, actorText(actor)],
    );
    if (token === undefined) throw new Error(`The new gateway token ${id} has no row`);
    await insertAudit(sql, {
      ...{ organizationId: app.organizationId, action: 'gateway-token.create', subject: id },
      ...{ before: null, after: { name, app: app.ref } },
    });
    return token;
  });
}

/**
 * Revokes a gateway token of an app. One of several concurrent callers revokes it and is audited; all get the
 * time of that revocation.
 */
export function revokeGatewayToken(
  database: Database,
  appId: string,
  id: string,
  actor: Actor,
): Promise<Outcome<RevokedKey>> {
  return atomically(database, actor, async (sql) => {
    const app = await lockApp(sql, appId);
    if (isFailure(app)) return app;
    const revokedAt = isoText('revoked_at');
    const [token] = await sql.query<{ name: string; revokedAt: string | null }>(
      `SELECT name, ${revokedAt} AS "revokedAt" FROM ddi_gateway_tokens WHERE app_id = $1 AND id = $2`,
      [appId, storableText(id)],
    );
    if (token === undefined) return fail('unknownGatewayToken');
    if (token.revokedAt !== null) return { id, revokedAt: token.revokedAt };
    const [revoked] = await sql.query<{ revokedAt: string }>(
      `UPDATE ddi_gateway_tokens SET revoked_at = clock_timestamp() WHERE id = $1
       RETURNING ${revokedAt} AS "revokedAt"`,
      [id],
    );
    if (revoked === undefined) throw new Error(`The gateway token ${id} is gone`);
    const { name } = token;
    await insertAudit(sql, {
      ...{ organizationId: app.organizationId, action: 'gateway-token.revoke', subject: id },
      ...{ before: { name, app: app.ref, revokedAt: null } },
      ...{ after: { name, app: app.ref, ...revoked } },
    });
    return { id, ...revoked };
  });
}

/** Adds a secret to an app, with its audit entry; from then on device tokens are made with it. */
export function addDdiSecret(
  database: Database,
  appId: string,
  seal: SealDdiSecret,
  actor: Actor,
): Promise<Outcome<DdiSecret>> {
  return atomically(database, actor, async (sql) => {
    const app = await lockApp(sql, appId);
    if (isFailure(app)) return app;
    const there = await sql.query('SELECT FROM ddi_secrets WHERE app_id = $1', [appId]);
    if (there.length >= LIMIT.ddiSecretsMax) return fail('tooManyDdiSecrets');
    const { sealed: _, ...secret } = await insertSecret(sql, app, seal);
    return secret;
  });
}

/** Deletes a secret of an app, with its audit entry; the device tokens that were made with it end. */
export function removeDdiSecret(
  database: Database,
  appId: string,
  id: string,
  actor: Actor,
): Promise<Outcome<{ readonly id: string }>> {
  return atomically(database, actor, async (sql) => {
    const app = await lockApp(sql, appId);
    if (isFailure(app)) return app;
    const gone = await sql.query(
      'DELETE FROM ddi_secrets WHERE app_id = $1 AND id = $2 RETURNING 1 AS one',
      [appId, storableText(id)],
    );
    if (gone.length === 0) return fail('unknownDdiSecret');
    await insertAudit(sql, {
      ...{ organizationId: app.organizationId, action: 'ddi-secret.remove', subject: app.ref },
      ...{ before: { secret: id }, after: null },
    });
    return { id };
  });
}

/**
 * Has tokens of devices made with the app's newest secret, and audits their number: an erased device must not
 * be named by the audit. An app without a secret gets one. The secret is not removed before the commit.
 */
export function makeDeviceTokens(
  database: Database,
  scope: TenantScope,
  { app: appName, devices, seal, make }: AskedDeviceTokens,
  actor: Actor,
): Promise<Outcome<readonly DeviceToken[]>> {
  return atomically(database, actor, async (sql) => {
    const app = await findApp(sql, scope, appName);
    if (isFailure(app)) return app;
    const secret = (await holdNewestSecret(sql, app.id)) ?? (await firstSecret(sql, app, seal));
    if (isFailure(secret)) return secret;
    const tokens = make(app.id, secret);
    if (isFailure(tokens)) return tokens;
    await insertAudit(sql, {
      ...{ organizationId: app.organizationId, action: 'device-token.make', subject: app.ref },
      ...{ before: null, after: { devices, secret: secret.id } },
    });
    return tokens;
  });
}

/** Returns the first secret of an app; one that a concurrent call has added, if there is one. */
async function firstSecret(
  sql: ActorSql,
  { id }: OwnedApp,
  seal: SealDdiSecret,
): Promise<Outcome<StoredDdiSecret>> {
  const app = await lockApp(sql, id);
  if (isFailure(app)) return app;
  return (await holdNewestSecret(sql, id)) ?? insertSecret(sql, app, seal);
}

async function holdNewestSecret(sql: Sql, appId: string): Promise<StoredDdiSecret | undefined> {
  const [secret] = await sql.query<StoredDdiSecret>(
    `SELECT id, sealed_secret AS sealed FROM ddi_secrets WHERE app_id = $1
     ORDER BY created_at DESC, id DESC LIMIT 1 FOR KEY SHARE`,
    [appId],
  );
  return secret;
}

async function insertSecret(
  sql: ActorSql,
  { id: appId, ref, organizationId }: OwnedApp,
  seal: SealDdiSecret,
): Promise<DdiSecret & StoredDdiSecret> {
  const id = newId('dds');
  const sealed = seal(id);
  const [secret] = await sql.query<DdiSecret>(
    `INSERT INTO ddi_secrets (id, app_id, sealed_secret, created_by)
     VALUES ($1, $2, $3, $4) RETURNING ${SECRET_COLUMNS}`,
    [id, appId, sealed, actorText(sql.actor)],
  );
  if (secret === undefined) throw new Error(`The new secret ${id} has no row`);
  await insertAudit(sql, {
    ...{ organizationId, action: 'ddi-secret.add', subject: ref },
    ...{ before: null, after: { secret: id } },
  });
  return { ...secret, sealed };
}

/**
 * Locks the app's row until the transaction ends, because that row exists before its first credential: so
 * that concurrent calls count each other's. NO KEY UPDATE, so that publishing does not wait for it.
 */
async function lockApp(sql: Sql, appId: string): Promise<Outcome<OwnedApp>> {
  if (!isStorable(appId)) return fail('unknownApp');
  const [app] = await sql.query<OwnedApp>(
    `SELECT id, ref, organization_id AS "organizationId" FROM apps
     WHERE id = $1 FOR NO KEY UPDATE`,
    [appId],
  );
  return app ?? fail('unknownApp');
}

/** Reads the valid credentials of each of these apps, in order. */
export function readDdiCredentials(
  sql: Sql,
  appIds: readonly string[],
): Promise<readonly StoredDdiCredentials[]> {
  return sql.query<StoredDdiCredentials>(
    `SELECT wanted.id AS "appId",
       (SELECT coalesce(json_agg(json_build_object('id', id, 'tokenHash', token_hash)), '[]')
        FROM ddi_gateway_tokens WHERE app_id = wanted.id AND revoked_at IS NULL) AS tokens,
       (SELECT coalesce(json_agg(json_build_object('id', id, 'sealed', sealed_secret)), '[]')
        FROM ddi_secrets WHERE app_id = wanted.id) AS secrets
     FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) ORDER BY place`,
    [appIds],
  );
}

/** Stores when gateway tokens were last used, in one statement; the latest time of each wins. */
export async function recordGatewayTokenUses(
  sql: Sql,
  uses: readonly GatewayTokenUse[],
): Promise<void> {
  if (uses.length === 0) return;
  await sql.query(
    `UPDATE ddi_gateway_tokens AS token SET last_used_at = use.at
     FROM unnest($1::text[], $2::timestamptz[]) AS use (id, at)
     WHERE token.id = use.id AND (last_used_at IS NULL OR last_used_at < use.at)`,
    [uses.map(({ id }) => id), uses.map(({ at }) => at)],
  );
}

// Secrets at rest.

/** Reads the next sealed secrets of all apps, by their ids. */
export function listDdiSecrets(
  sql: Sql,
  after: string,
  countMax: number,
): Promise<readonly StoredDdiSecret[]> {
  return sql.query<StoredDdiSecret>(
    `SELECT id, sealed_secret AS sealed FROM ddi_secrets WHERE id > $1 ORDER BY id LIMIT $2`,
    [storableText(after), countMax],
  );
}

/** Replaces secrets that are still those of `from`, in the order of their ids; returns how many. */
export async function replaceDdiSecrets(
  sql: Sql,
  changes: readonly ResealedDdiSecret[],
): Promise<number> {
  const rows = await sql.query(
    `WITH held AS (
       SELECT secret.id, change.sealed
       FROM unnest($1::text[], $2::text[], $3::text[]) AS change (id, was, sealed)
       JOIN ddi_secrets AS secret ON secret.id = change.id AND secret.sealed_secret = change.was
       ORDER BY secret.id FOR NO KEY UPDATE OF secret
     )
     UPDATE ddi_secrets AS secret SET sealed_secret = held.sealed
     FROM held WHERE secret.id = held.id RETURNING 1 AS one`,
    [changes.map(({ id }) => id), changes.map(({ from }) => from), changes.map(({ to }) => to)],
  );
  return rows.length;
}
