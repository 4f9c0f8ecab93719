// SQL of API keys and edge tokens. The ledger stores only hashes of their secrets; the audit gets neither.

import type { RevokedKey } from '../../../contract/console.ts';
import type { ListedEdgeToken, RevokedEdgeToken } from '../../../contract/edge.ts';
import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type Outcome,
} from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import { type ApiKey, KEY_RIGHTS, type ListedKey } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type {
  EdgeScope,
  KeyUse,
  NewEdgeToken,
  NewKey,
  StoredEdgeToken,
  StoredKey,
} from '../../console-ledger.ts';
import { type Actor, actorText } from '../../ledger-terms.ts';
import { expireApprovals } from '../change/approval-decisions.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit, organizationExists } from '../change/audit.ts';
import { findApp } from '../change/channels.ts';
import { columns, isoText, jsonOrNull, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';

/** Stores the key and the audit entry in one transaction. A duplicate of the random prefix is an error. */
export function createKey(database: Database, key: NewKey, actor: Actor): Promise<Outcome<ApiKey>> {
  return atomically(database, actor, async (sql) => {
    const { organizationId, name, prefix, secretHash, apps, may, expiresAt } = key;
    if (!(await organizationExists(sql, organizationId))) return fail('unknownOrganization');
    const appIds = apps === undefined ? null : await findApps(sql, organizationId, apps);
    if (isFailure(appIds)) return appIds;
    if (await isPast(sql, expiresAt)) {
      return invalidField('expiresAt', 'must lie in the future');
    }
    const id = newId('key');
    await sql.query(
      `INSERT INTO api_keys (
         id, organization_id, name, prefix, secret_hash, created_by, app_ids, may, expires_at
       ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        ...[id, organizationId, name, prefix, secretHash, actorText(actor)],
        ...[appIds, may ?? null, expiresAt ?? null],
      ],
    );
    await insertAudit(sql, {
      organizationId,
      action: 'key.create',
      subject: id,
      before: null,
      after: { name, prefix, apps, may, expiresAt },
    });
    return { id, name, prefix };
  });
}

/** Returns the ids of apps given by ref or id, each once; or a refusal that names the first unknown app. */
export async function findApps(
  sql: Sql,
  organizationId: string,
  names: readonly string[],
): Promise<readonly string[] | Failure> {
  const ids = new Set<string>();
  for (const name of names) {
    const app = await findApp(sql, organizationId, name);
    if (isFailure(app)) return fail('unknownApp', `Unknown app ${name}`);
    ids.add(app.id);
  }
  return [...ids];
}

/** Returns whether a time has come, by the ledger's clock. */
async function isPast(sql: Sql, time: string | undefined): Promise<boolean> {
  if (time === undefined) return false;
  const rows = await sql.query<{ isPast: boolean }>(
    'SELECT $1::timestamptz <= clock_timestamp() AS "isPast"',
    [time],
  );
  return rows[0]?.isPast === true;
}

/**
 * Finds the key with this public prefix, revoked or not. Reads it from the database each time: once a
 * revocation is acknowledged, every read shows it.
 */
export async function findKey(sql: Sql, prefix: string): Promise<StoredKey | undefined> {
  if (!isStorable(prefix)) return undefined;
  const rows = await sql.query<StoredKey>(
    `SELECT id, name, organization_id AS "organizationId", secret_hash AS "secretHash",
       ${isoText('revoked_at')} AS "revokedAt", app_ids AS "appIds", may,
       coalesce(expires_at <= clock_timestamp(), false) AS "isOver"
     FROM api_keys WHERE prefix = $1`,
    [prefix],
  );
  return rows[0];
}

const KEY_COLUMNS = columns<ListedKey>({
  id: 'id',
  name: 'name',
  prefix: 'prefix',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
  apps: `(
    SELECT json_agg(apps.ref ORDER BY apps.ref) FROM apps WHERE apps.id = ANY (api_keys.app_ids)
  )`,
  may: `coalesce(may, '{${KEY_RIGHTS.join(',')}}')`,
  expiresAt: isoText('expires_at'),
  lastUsedAt: isoText('last_used_at'),
  lastUsedFrom: 'last_used_from',
  revokedAt: isoText('revoked_at'),
});

/** Lists the organization's keys, revoked ones included, newest first. */
export function listKeys(sql: Sql, organizationId: string): Promise<readonly ListedKey[]> {
  return sql.query<ListedKey>(
    `SELECT ${KEY_COLUMNS} FROM api_keys WHERE organization_id = $1
     ORDER BY api_keys.created_at DESC, id DESC LIMIT ${LIMIT.keysShownMax}`,
    [organizationId],
  );
}

/** Stores when and from where keys were last used, in one statement; the latest time of each key wins. */
export async function recordKeyUses(sql: Sql, uses: readonly KeyUse[]): Promise<void> {
  if (uses.length === 0) return;
  await sql.query(
    `UPDATE api_keys SET last_used_at = use.at, last_used_from = use.address
     FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS use (id, at, address)
     WHERE api_keys.id = use.id AND (last_used_at IS NULL OR last_used_at < use.at)`,
    [uses.map(({ id }) => id), uses.map(({ at }) => at), uses.map(({ from }) => from)],
  );
}

/**
 * Revokes a key under the lock on its row: one of several concurrent callers revokes it and is audited; all
 * get the time of that revocation.
 */
export function revokeKey(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<RevokedKey>> {
  return atomically(database, actor, async (sql) => {
    const key = await lockSecret<string>(sql, 'api_keys', id);
    if (key === undefined) return fail('unknownKey');
    if (key.revokedAt !== null) return { id, revokedAt: key.revokedAt };
    const revokedAt = await storeRevocation(sql, 'api_keys', id);
    await insertAudit(sql, {
      organizationId: key.organizationId,
      action: 'key.revoke',
      subject: id,
      before: { name: key.name, revokedAt: null },
      after: { name: key.name, revokedAt },
      also: { name: key.name, prefix: key.prefix },
    });
    await expireApprovals(sql, LIMIT.approvalsExpiredMax, key.organizationId);
    return { id, revokedAt };
  });
}

/**
 * Stores a new token in one transaction with its audit entry, which goes to the token's organization, or to
 * every organization if the token is for all. A duplicate prefix is an error.
 */
export function createEdgeToken(
  database: Database,
  { organizationId, name, prefix, secretHash }: NewEdgeToken,
  actor: Actor,
): Promise<Outcome<ListedEdgeToken>> {
  return atomically(database, actor, async (sql) => {
    if (organizationId !== null && !(await organizationExists(sql, organizationId))) {
      return fail('unknownOrganization');
    }
    const id = newId('edt');
    const rows = await sql.query<ListedEdgeToken>(
      `INSERT INTO edge_tokens (id, organization_id, name, prefix, secret_hash, created_by)
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${EDGE_TOKEN_COLUMNS}`,
      [id, organizationId, name, prefix, secretHash, actorText(actor)],
    );
    const [token] = rows;
    if (token === undefined) throw new Error(`The new edge token ${id} has no row`);
    const change = { before: null, after: { name, prefix, org: organizationId } };
    await insertEdgeTokenAudit(sql, organizationId, 'edge-token.create', { id, ...change });
    return token;
  });
}

/**
 * Finds the token with this public prefix, revoked or not. Reads it from the database each time: once a
 * revocation is acknowledged, every read shows it.
 */
export async function findEdgeToken(
  sql: Sql,
  prefix: string,
): Promise<StoredEdgeToken | undefined> {
  if (!isStorable(prefix)) return undefined;
  const rows = await sql.query<StoredEdgeToken>(
    `SELECT id, organization_id AS "organizationId", secret_hash AS "secretHash",
       revoked_at IS NOT NULL AS "isRevoked"
     FROM edge_tokens WHERE prefix = $1`,
    [prefix],
  );
  return rows[0];
}

type EdgeTokenChange = {
  readonly id: string;
  readonly before: object | null;
  readonly after: object;
};

/**
 * Adds the entry, in the transaction of the change, to the audit of the token's organization, or of every
 * organization if the token is for all.
 */
async function insertEdgeTokenAudit(
  sql: ActorSql,
  organizationId: EdgeScope,
  action: 'edge-token.create' | 'edge-token.revoke',
  { id, before, after }: EdgeTokenChange,
): Promise<void> {
  await sql.query(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id)
     SELECT id, $2, $3, $4, $5, $6, $7 FROM organizations
     WHERE id = $1 OR $1::text IS NULL ORDER BY id`,
    [
      ...[organizationId, actorText(sql.actor), action, id],
      ...[jsonOrNull(before), JSON.stringify(after)],
      sql.actor.requestId ?? null,
    ],
  );
}

/**
 * Lists the newest tokens, revoked ones included, up to the number that the console shows. Ids sort by
 * creation.
 */
export function listEdgeTokens(sql: Sql): Promise<readonly ListedEdgeToken[]> {
  return sql.query<ListedEdgeToken>(
    `SELECT ${EDGE_TOKEN_COLUMNS} FROM edge_tokens ORDER BY id DESC LIMIT ${LIMIT.keysShownMax}`,
  );
}

const EDGE_TOKEN_COLUMNS = columns<ListedEdgeToken>({
  id: 'id',
  name: 'name',
  org: 'organization_id',
  prefix: 'prefix',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
  revokedAt: isoText('revoked_at'),
});

/**
 * Revokes a token under the lock on its row: one of several concurrent callers revokes it and is audited; all
 * get the time of that revocation.
 */
export function revokeEdgeToken(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<RevokedEdgeToken>> {
  return atomically(database, actor, async (sql) => {
    const token = await lockSecret<EdgeScope>(sql, 'edge_tokens', id);
    if (token === undefined) return fail('unknownEdgeToken');
    if (token.revokedAt !== null) return { id, revokedAt: token.revokedAt };
    const revokedAt = await storeRevocation(sql, 'edge_tokens', id);
    const change = { before: { revokedAt: null }, after: { revokedAt } };
    await insertEdgeTokenAudit(sql, token.organizationId, 'edge-token.revoke', { id, ...change });
    return { id, revokedAt };
  });
}

type LockedSecret<Organization extends EdgeScope> = {
  readonly organizationId: Organization;
  readonly name: string;
  readonly prefix: string;
  readonly revokedAt: string | null;
};

type RefusedEdge = { readonly org: EdgeScope; readonly name: string; readonly prefix: string };

/**
 * Writes an event, once for each token, when an edge goes on asking with a revoked token: for the token's
 * organization, or for each that has a destination, if the token is for all.
 */
export async function tellRefusedEdge(database: Database, id: string): Promise<void> {
  const service = { kind: 'service' } as const;
  await atomically(database, service, async (sql) => {
    const [edge] = await sql.query<RefusedEdge>(
      `UPDATE edge_tokens SET refusal_told_at = clock_timestamp()
       WHERE id = $1 AND revoked_at IS NOT NULL AND refusal_told_at IS NULL
       RETURNING organization_id AS org, name, prefix`,
      [id],
    );
    if (edge === undefined) return undefined;
    const { org, name, prefix } = edge;
    const told = [{ type: 'edge.refused', facts: { edge: { id, name, prefix } } }] as const;
    for (const organizationId of org === null ? await listenersOf(sql) : [org]) {
      sql.addEvents({ organizationId }, told);
    }
    return undefined;
  });
}

/** Lists the organizations that have an enabled destination. */
async function listenersOf(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    'SELECT DISTINCT organization_id AS id FROM notification_destinations WHERE is_enabled',
  );
  return rows.map(({ id }) => id);
}

/** Locks a key or a token until the transaction ends; undefined if it does not exist. */
async function lockSecret<Organization extends EdgeScope>(
  sql: Sql,
  table: 'api_keys' | 'edge_tokens',
  id: string,
): Promise<LockedSecret<Organization> | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<LockedSecret<Organization>>(
    `SELECT organization_id AS "organizationId", name, prefix, ${isoText('revoked_at')} AS "revokedAt"
     FROM ${table} WHERE id = $1 FOR UPDATE`,
    [id],
  );
  return rows[0];
}

/** Stores the revocation of a locked key or token; returns its time. */
async function storeRevocation(
  sql: Sql,
  table: 'api_keys' | 'edge_tokens',
  id: string,
): Promise<string> {
  const rows = await sql.query<{ revokedAt: string }>(
    `UPDATE ${table} SET revoked_at = clock_timestamp() WHERE id = $1
     RETURNING ${isoText('revoked_at')} AS "revokedAt"`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`Locked row ${id} of ${table} is gone`);
  return rows[0].revokedAt;
}
