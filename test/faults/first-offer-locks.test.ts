// Tests first offers and changes of serving that meet on two connections to PostgreSQL: who waits for whom,
// and what the later one sees (docs/contract.md 14.4).

import { beforeAll, describe, expect, inject, test } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { LockedTooLong, Unavailable } from '../../src/contract/store-fault.ts';
import { applyServingChange } from '../../src/domain/release/serving-change.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { createSqlLedger } from '../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { createTenant, type TestTenant } from '../store/ledger/ledger-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type FreshDatabase, freshDatabase } from '../support/fresh-database.ts';
import { gate } from '../support/gate.ts';
import { endWithSuite } from '../support/own.ts';
import { settlesWithin } from '../support/settles-within.ts';

const postgresUrl = inject('postgresUrl');
const needed = 'a first offer and a serving change on two connections';
const title = postgresUrl === '' ? `${needed} (skipped: no PostgreSQL on this machine)` : needed;

describe.skipIf(postgresUrl === '')(title, () => {
  let fresh: FreshDatabase;
  const opened: Database[] = [];

  function open(): Database {
    const database = openPgDatabase({ url: fresh.url, onFault: () => undefined });
    opened.push(database);
    return database;
  }

  let changing: Database;
  let offering: Ledger;

  beforeAll(async () => {
    fresh = await freshDatabase(postgresUrl);
    changing = open();
    await migrate(changing);
    offering = createSqlLedger(open());
  });
  endWithSuite(() => [...opened, fresh]);

  async function published() {
    const tenant = await createTenant(offering);
    const { value, changed } = await tenant.release('1.0.0', { rolloutPct: 50 });
    const channelId = changed[0]?.channelId ?? '';
    return {
      tenant,
      releaseId: value.id,
      channelId,
      record: () => offering.recordFirstOffer(channelId, value.id, { epoch: 0, revision: 2 }),
    };
  }

  type Ending = 'commit' | 'rollback';

  /** Makes steps in a transaction that holds its locks until the test says how it ends. */
  async function hold(...steps: readonly (readonly [statement: string, id: string])[]) {
    let end: (ending: Ending) => void = () => undefined;
    const told = new Promise<Ending>((resolve) => {
      end = resolve;
    });
    const held = gate();
    const ended = changing.transaction(async (sql) => {
      for (const [statement, id] of steps) await sql.query(statement, [id]);
      held.open();
      if ((await told) === 'rollback') throw new Error('rolled back');
    });
    await held.opened;
    return { end, ended };
  }

  /** Begins a serving change, which lowers the rollout. */
  const holdChange = (channelId: string) =>
    hold(
      ['SELECT FROM channels WHERE id = $1 FOR UPDATE', channelId],
      ['UPDATE releases SET rollout_pct = 10 WHERE channel_id = $1', channelId],
      ['UPDATE channels SET revision = revision + 1 WHERE id = $1', channelId],
    );

  /** Begins a first offer. */
  const holdOffer = (channelId: string, releaseId: string) =>
    hold(
      ['SELECT FROM channels WHERE id = $1 AND revision = 2 FOR SHARE', channelId],
      ['UPDATE releases SET offered_at = now() WHERE id = $1', releaseId],
    );

  async function releaseOf(tenant: TestTenant) {
    return (await tenant.stable()).releases[0];
  }

  test.each(['commit', 'rollback'] as const)(
    'an offer that waited for a change is recorded exactly when that came to nothing (%s)',
    async (ending) => {
      const { tenant, channelId, record } = await published();
      const change = await holdChange(channelId);
      const recorded = record();
      expect(await settlesWithin(recorded, 200)).toBe(false);
      change.end(ending);
      if (ending === 'commit') await change.ended;
      else await expect(change.ended).rejects.toThrow('rolled back');
      expect(await recorded).toBe(ending === 'rollback');
      expect(await releaseOf(tenant)).toMatchObject(
        ending === 'commit'
          ? { offered: false, rolloutPct: 10 }
          : { offered: true, rolloutPct: 50 },
      );
    },
  );

  test.each(['commit', 'rollback'] as const)(
    'a change that waited for an offer sees it exactly when it is durable (%s)',
    async (ending) => {
      const { tenant, channelId, releaseId } = await published();
      const offer = await holdOffer(channelId, releaseId);
      const seen: boolean[] = [];
      const change = tenant.control('1.0.0', (serving) => {
        seen.push(serving.offered);
        return applyServingChange(serving, { rollout: 10 });
      });
      expect(await settlesWithin(change, 200)).toBe(false);
      expect(seen).toEqual([]);
      offer.end(ending);
      await offer.ended.catch(() => undefined);
      expect(isFailure(await change)).toBe(ending === 'commit');
      expect(seen).toEqual([ending === 'commit']);
      expect(await releaseOf(tenant)).toMatchObject(
        ending === 'commit'
          ? { offered: true, rolloutPct: 50 }
          : { offered: false, rolloutPct: 10 },
      );
    },
  );

  test.each(['commit', 'rollback'] as const)(
    'an offer that waited for another is true only once the mark is durable (%s)',
    async (ending) => {
      const { tenant, channelId, releaseId, record } = await published();
      const first = await holdOffer(channelId, releaseId);
      const recorded = record();
      expect(await settlesWithin(recorded, 200)).toBe(false);
      first.end(ending);
      await first.ended.catch(() => undefined);
      expect(await recorded).toBe(true);
      expect((await releaseOf(tenant))?.offered).toBe(true);
    },
  );

  test('a node that stalls in a transaction loses its locks; an offer does not wait for it', async () => {
    const { tenant, channelId, record } = await published();
    const change = await holdChange(channelId);
    await expect(record()).rejects.toBeInstanceOf(LockedTooLong);
    expect(await releaseOf(tenant)).toMatchObject({ offered: false });
    await eventually('the stalled transaction was ended', () => record().catch(() => false));
    change.end('commit');
    await expect(change.ended).rejects.toBeInstanceOf(Unavailable);
  });
});
