// SQL of passkeys: adding, naming and removing them, sessions that they open, and how a link removes them.

import type { NoContent } from '../../../contract/console.ts';
import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Passkey } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type {
  AnsweredChallenge,
  KnownPasskey,
  NewPasskey,
  NewSession,
  Opening,
  ShownPasskey,
  StoredAccount,
  StoredPasskey,
} from '../../account-ledger.ts';
import type { NewMail } from '../../delivery-ledger.ts';
import type { AccountActor } from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAccountAudit } from '../change/audit.ts';
import { ACCOUNT_COLUMNS, columns, IS_STRONG, isoText, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertMail } from './deliveries.ts';
import { useLink } from './one-time-links.ts';
import { accountOf, deleteSessions, insertSession, lockAccountRow } from './sessions.ts';

const SHOWN = {
  id: 'passkeys.id',
  name: 'passkeys.name',
  createdAt: isoText('passkeys.created_at'),
  lastUsedAt: isoText('passkeys.last_used_at'),
};
const PASSKEY_COLUMNS = columns<Passkey>(SHOWN);

/** Lists the passkeys of an account, the oldest first. */
export function listPasskeys(sql: Sql, accountId: string): Promise<readonly StoredPasskey[]> {
  const shown = { ...SHOWN, credentialId: 'credential_id', transports: 'transports' };
  return sql.query<StoredPasskey>(
    `SELECT ${columns<StoredPasskey>(shown)} FROM passkeys WHERE account_id = $1
     ORDER BY created_at, id LIMIT ${LIMIT.passkeysPerAccountMax}`,
    [accountId],
  );
}

/** Finds a passkey by its credential id, with its account. */
export async function findPasskey(
  sql: Sql,
  credentialId: string,
): Promise<KnownPasskey | undefined> {
  if (!isStorable(credentialId)) return undefined;
  const [found] = await sql.query<StoredAccount & { passkeyId: string; publicKey: string }>(
    `SELECT ${ACCOUNT_COLUMNS}, passkeys.id AS "passkeyId", public_key AS "publicKey"
     FROM passkeys JOIN accounts ON accounts.id = account_id WHERE credential_id = $1`,
    [credentialId],
  );
  if (found === undefined) return undefined;
  const { passkeyId, publicKey, ...account } = found;
  return { id: passkeyId, publicKey, account };
}

/**
 * Adds a passkey to the actor's account, uses the challenge up, and marks the actor's session as one with a
 * second factor. A session by password alone may only add the first one. The lock on the account's row orders
 * this call against other additions and against sessions that a password opens.
 */
export function addPasskey(
  database: Database,
  passkey: NewPasskey,
  challenge: AnsweredChallenge,
  actor: AccountActor,
): Promise<Outcome<Passkey>> {
  return atomically(database, actor, async (sql) => {
    const { accountId, tokenHash } = actor;
    await lockAccountRow(sql, accountId);
    if (!(await useUp(sql, challenge, passkey.at))) return fail('staleChallenge');
    const count = await countPasskeys(sql, accountId);
    if (count >= LIMIT.passkeysPerAccountMax) return fail('tooManyPasskeys');
    if (count > 0 && !(await isStrong(sql, tokenHash))) return fail('secondFactorFirst');
    const added = await insertPasskey(sql, accountId, passkey);
    if (added === undefined) return fail('passkeyTaken');
    await sql.confirmRight();
    await sql.query('UPDATE sessions SET second_factor = true WHERE token_hash = $1', [tokenHash]);
    await insertAccountAudit(sql, accountOf(actor), 'account.add-passkey', { name: added.name });
    await insertMail(sql, passkey.mail);
    return added;
  });
}

async function insertPasskey(
  sql: Sql,
  accountId: string,
  { credentialId, publicKey, counter, transports, name, at }: NewPasskey,
): Promise<Passkey | undefined> {
  const rows = await sql.query<Passkey>(
    `INSERT INTO passkeys
       (id, account_id, credential_id, public_key, counter, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6::text[], $7, $8::timestamptz)
     ON CONFLICT (credential_id) DO NOTHING RETURNING ${PASSKEY_COLUMNS}`,
    [newId('pky'), accountId, credentialId, publicKey, counter, transports, name, at],
  );
  return rows[0];
}

/** Stores that a challenge was answered, and deletes expired ones; false if it was answered before. */
async function useUp(sql: Sql, { text, expiresAt }: AnsweredChallenge, now: string) {
  await sql.query('DELETE FROM used_challenges WHERE expires_at <= $1::timestamptz', [now]);
  const used = await sql.query(
    `INSERT INTO used_challenges (challenge, expires_at) VALUES ($1, $2::timestamptz)
     ON CONFLICT (challenge) DO NOTHING RETURNING challenge`,
    [text, expiresAt],
  );
  return used.length > 0;
}

async function countPasskeys(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM passkeys WHERE account_id = $1',
    [accountId],
  );
  return row?.count ?? 0;
}

/** Returns whether the session of this token hash fulfils the demand for a second factor. */
export async function isStrong(sql: Sql, tokenHash: string): Promise<boolean> {
  const rows = await sql.query(`SELECT FROM sessions WHERE token_hash = $1 AND ${IS_STRONG}`, [
    tokenHash,
  ]);
  return rows.length > 0;
}

/** Renames a passkey of the actor's account. */
export function renamePasskey(
  database: Database,
  id: string,
  name: string,
  actor: AccountActor,
): Promise<Outcome<Passkey>> {
  return atomically(database, actor, async (sql) => {
    if (!isStorable(id)) return fail('unknownPasskey');
    const [renamed] = await sql.query<Passkey>(
      `UPDATE passkeys SET name = $3 WHERE id = $1 AND account_id = $2
       RETURNING ${PASSKEY_COLUMNS}`,
      [id, actor.accountId, name],
    );
    return renamed ?? fail('unknownPasskey');
  });
}

/**
 * Removes a passkey of the actor's account and ends its other sessions, which the passkey may have opened.
 */
export function removePasskey(
  database: Database,
  id: string,
  actor: AccountActor,
  mail?: NewMail,
): Promise<Outcome<NoContent>> {
  return atomically(database, actor, async (sql) => {
    if (!isStorable(id)) return fail('unknownPasskey');
    await lockAccountRow(sql, actor.accountId);
    const [removed] = await sql.query<{ name: string }>(
      'DELETE FROM passkeys WHERE id = $1 AND account_id = $2 RETURNING name',
      [id, actor.accountId],
    );
    if (removed === undefined) return fail('unknownPasskey');
    if (!(await isStrong(sql, actor.tokenHash))) return fail('secondFactorFirst');
    await deleteSessions(sql, actor.accountId, actor.tokenHash);
    await insertAccountAudit(sql, accountOf(actor), 'account.remove-passkey', removed);
    await insertMail(sql, mail);
    return {};
  });
}

// Sessions that a passkey opens.

/**
 * Opens a session as `openSession` does, for the correct answer of a passkey, and uses the challenge up,
 * under the lock on the account's row. Reads the passkey's row again there: it may have been removed, or its
 * counter raised on another node. If the answer's counter has not risen, there is a copy of the passkey: no
 * session opens, and the refusal is audited.
 */
export async function openSessionByPasskey(
  database: Database,
  { id: accountId, email, passwordHash }: Opening,
  { id, counter, challenge }: ShownPasskey,
  session: NewSession,
): Promise<Outcome<number>> {
  const account = { id: accountId, email };
  let cloned: { readonly name: string } | undefined;
  const opened = await atomically(database, { kind: 'token', email }, async (sql) => {
    const [locked] = await sql.query<{ passwordNumber: number }>(
      `SELECT password_number AS "passwordNumber" FROM accounts
       WHERE id = $1 AND ($2::text IS NULL OR password_hash = $2) FOR NO KEY UPDATE`,
      [accountId, passwordHash ?? null],
    );
    if (locked === undefined) return fail('wrongLogin');
    if (!(await useUp(sql, challenge, session.at))) return fail('staleChallenge');
    const passkey = await riseCounter(sql, accountId, id, counter, session.at);
    if (isFailure(passkey)) return passkey;
    if (!passkey.hasRisen) {
      cloned = passkey;
      return fail('wrongPasskey');
    }
    await insertSession(sql, account, session);
    return locked.passwordNumber;
  });
  if (cloned !== undefined) await recordCloned(database, account, cloned.name, session.address);
  return opened;
}

/** Stores a passkey's counter if it has risen, or if the authenticator does not count. */
async function riseCounter(
  sql: Sql,
  accountId: string,
  id: string,
  counter: number,
  at: string,
): Promise<{ name: string; hasRisen: boolean } | Failure> {
  const [passkey] = await sql.query<{ name: string; hasRisen: boolean }>(
    `SELECT name, counter < $3 OR counter = 0 AND $3 = 0 AS "hasRisen" FROM passkeys
     WHERE id = $1 AND account_id = $2 FOR UPDATE`,
    [id, accountId, counter],
  );
  if (passkey === undefined) return fail('wrongPasskey');
  if (passkey.hasRisen) {
    await sql.query(
      'UPDATE passkeys SET counter = $2, last_used_at = $3::timestamptz WHERE id = $1',
      [id, counter, at],
    );
  }
  return passkey;
}

/** Audits an answer whose counter went back, in a transaction of its own: the refused one is rolled back. */
async function recordCloned(
  database: Database,
  account: { readonly id: string; readonly email: string },
  name: string,
  address: string,
): Promise<void> {
  await atomically(database, { kind: 'stranger' }, async (sql) => {
    await insertAccountAudit(sql, account, 'account.refuse-passkey', {
      name,
      address,
      why: 'The counter of the passkey went back: there is a copy of it',
    });
    return undefined;
  });
}

/**
 * Uses up a link: removes the passkeys and ends all sessions, under the lock on the account's row. Only one
 * of several concurrent calls finds the link.
 */
export function useRecovery(
  database: Database,
  account: { readonly id: string; readonly email: string },
  tokenHash: string,
  now: string,
  mail?: NewMail,
): Promise<Outcome<{ readonly removed: number }>> {
  return atomically(database, { kind: 'token', email: account.email }, async (sql) => {
    await lockAccountRow(sql, account.id);
    const used = await useLink(sql, 'recovery', tokenHash, now);
    if (used?.accountId !== account.id) return fail('unknownReset');
    const passkeys = await sql.query('DELETE FROM passkeys WHERE account_id = $1 RETURNING id', [
      account.id,
    ]);
    await deleteSessions(sql, account.id, undefined);
    await insertAccountAudit(sql, account, 'account.use-recovery', { removed: passkeys.length });
    await insertMail(sql, mail);
    return { removed: passkeys.length };
  });
}
