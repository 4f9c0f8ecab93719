// Rules that stand in the database itself, and rules of its driver: transactions, migrations and the end.

import { describe, expect, test } from 'vitest';
import { migrate } from '../../../src/store/ledger/database/migrate.ts';
import { tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** First states of a channel: no test of this suite raises the epoch. */
const at = (revision: number) => ({ epoch: 0, revision });

export function describeDatabase({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  describe('rules that stand in the database itself', () => {
    async function offered(): Promise<string> {
      const { value, changed } = await tenant.release('1.0.0', { rolloutPct: 50 });
      await ledger.recordFirstOffer(changed[0]?.channelId ?? '', value.id, at(2));
      return value.id;
    }

    const refusals = [
      ['an offered release stays offered', 'offered_at = null', 'releases_stay_offered'],
      ['an offered rollout only rises', 'rollout_pct = 49', 'releases_rollout_rises'],
      ['a version never changes', "version = '9'", 'releases_immutable'],
      ['a canonical version never changes', "canonical_version = '9'", 'releases_immutable'],
      ['notes that were offered never change', "notes = '9'", 'releases_immutable'],
      ['the creation never changes', 'created_at = now()', 'releases_immutable'],
      ['a status is one of four', "status = 'gone'", 'releases_status_check'],
      ['a rollout is at most 100', 'rollout_pct = 101', 'releases_rollout_pct_check'],
    ] as const;

    test.each(refusals)('%s', async (_rule, assignment, constraint) => {
      const id = await offered();
      const update = database.query(`UPDATE releases SET ${assignment} WHERE id = $1`, [id]);
      await expect(update).rejects.toMatchObject({ code: '23514', constraint });
    });

    test('notes change where the release came from a code host and was never offered', async () => {
      const { value } = await tenant.release('1.0.0');
      const change = (id: string, notes: string) =>
        database.query('UPDATE releases SET notes = $2 WHERE id = $1', [id, notes]);
      const immutable = { constraint: 'releases_immutable' };
      await expect(change(value.id, 'of a key')).rejects.toMatchObject(immutable);
      const { channelId, revision } = await tenant.stable();
      const id = `${value.id}w`;
      await database.query(
        `INSERT INTO releases (id, channel_id, version, canonical_version, notes, status,
           rollout_pct, source)
         VALUES ($1, $2, '2', '2.0.0', 'four', 'published', 100, 'webhook')`,
        [id, channelId],
      );
      await change(id, 'eleven word');
      const [bytes] = await database.query(
        `SELECT (SELECT content_bytes FROM releases WHERE id = $2) AS one, content_bytes::int AS all
         FROM channels WHERE id = $1`,
        [channelId, id],
      );
      expect(bytes).toEqual({ one: 11, all: 11 });
      expect(await ledger.recordFirstOffer(channelId, id, at(revision))).toBe(true);
      await expect(change(id, 'x')).rejects.toMatchObject(immutable);
    });

    test('a rolled-back release stays rolled back', async () => {
      const id = await offered();
      await database.query("UPDATE releases SET status = 'rolled_back' WHERE id = $1", [id]);
      const update = database.query("UPDATE releases SET status = 'paused' WHERE id = $1", [id]);
      await expect(update).rejects.toMatchObject({ constraint: 'releases_stay_rolled_back' });
    });

    test("a channel's revision never goes back", async () => {
      await tenant.release('1.0.0');
      const update = database.query('UPDATE channels SET revision = 1 WHERE app_id = $1', [
        tenant.appId,
      ]);
      await expect(update).rejects.toMatchObject({ constraint: 'channels_revision_rises' });
    });
  });

  describe('transactions', () => {
    test('50 at once do not interleave', async () => {
      await database.query('CREATE TABLE counter (value integer NOT NULL)');
      await database.query('INSERT INTO counter VALUES (0)');
      // Read and write are separate statements: an interleaved transaction would lose an increment.
      const increment = () =>
        database.transaction(async (sql) => {
          const rows = await sql.query<{ value: number }>('SELECT value FROM counter FOR UPDATE');
          await sql.query('UPDATE counter SET value = $1', [(rows[0]?.value ?? 0) + 1]);
        });
      await Promise.all(Array.from({ length: 50 }, increment));
      expect(await database.query('SELECT value FROM counter')).toEqual([{ value: 50 }]);
    });

    test('one that swallows the error of a statement is not stored, and one that is over is of no use', async () => {
      const work = database.transaction(async (sql) => {
        await sql.query('SELECT 1/0').catch(() => undefined);
        return 'stored';
      });
      await expect(work).rejects.toThrow('failed unnoticed');
      const sql = await database.transaction(async (connection) => connection);
      await expect(sql.query('SELECT 1')).rejects.toThrow('over');
    });
  });

  test('migrating again does no harm, and a newer schema is refused', async () => {
    await migrate(database);
    expect(await tenant.stable()).toMatchObject({ revision: 1 });
    await database.query("INSERT INTO sluice_migrations (id, name) VALUES (900, 'later')");
    await expect(migrate(database)).rejects.toMatchObject({
      name: 'SchemaTooNew',
      message: expect.stringMatching(
        /at migration 900, but this version of Sluice knows only \d+:/,
      ),
    });
    await database.query('DELETE FROM sluice_migrations WHERE id = 900');
  });

  test('it is reachable until it is closed, and then unavailable; closing twice does no harm', async () => {
    expect(await ledger.isReachable()).toBe(true);
    const running = ledger.listApps('nobody');
    await Promise.all([ledger.close(), ledger.close()]);
    expect(await running).toEqual([]);
    expect(await ledger.isReachable()).toBe(false);
    await expect(ledger.listApps('nobody')).rejects.toMatchObject({
      name: 'Unavailable',
      store: 'ledger',
    });
    await ledger.close();
  });
}
