// Transaction that creates an API key. Only the hash of its secret is stored, and the audit has not even
// that.

import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import type { ApiKey } from '../../contract/resource.ts';
import type { NewKey } from '../ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { actorText } from './actor-text.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database, Sql } from './database.ts';
import { findApp } from './lookups.ts';
import { newId } from './new-id.ts';
import { organizationExists } from './organization-exists.ts';

/**
 * Stores the key and the audit entry in one transaction. A prefix that exists already is no
 * expected refusal, because prefixes are random: the database's error rejects the call.
 */
export function createKey(
  database: Database,
  key: NewKey,
  actor: Actor,
): Promise<Outcome<ApiKey, 'invalid' | LostRight>> {
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

/**
 * Returns the ids of apps that are given by ref or id, each once; a refusal that names the first unknown one.
 */
async function findApps(
  sql: Sql,
  organizationId: string,
  names: readonly string[],
): Promise<readonly string[] | Failure<'unknownApp'>> {
  const ids = new Set<string>();
  for (const name of names) {
    const app = await findApp(sql, organizationId, name);
    if (isFailure(app)) return fail('unknownApp', `Unknown app ${name}`);
    ids.add(app.id);
  }
  return [...ids];
}

/** Whether a time has come, by the clock by which keys end. */
async function isPast(sql: Sql, time: string | undefined): Promise<boolean> {
  if (time === undefined) return false;
  const rows = await sql.query<{ isPast: boolean }>(
    'SELECT $1::timestamptz <= clock_timestamp() AS "isPast"',
    [time],
  );
  return rows[0]?.isPast === true;
}
