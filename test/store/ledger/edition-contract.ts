// Rules of the ledger port about editions of releases: whatever changes a
// release gives it another one, and what a caller has is not read again.

import { expect, test } from 'vitest';
import { readSnapshot } from '../../../src/store/ledger/change/snapshots.ts';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import { createTenant, type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeEditions({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  async function editionsOf(tenant: TestTenant): Promise<Record<string, string>> {
    const { releases } = await tenant.stable();
    return Object.fromEntries(releases.map(({ version, edition }) => [version, edition]));
  }

  test('a release has another edition after a change, and the others keep theirs', async () => {
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await tenant.release(version);
    const before = await editionsOf(tenant);
    expect(new Set(Object.values(before)).size).toBe(3);
    const seen = new Set(Object.values(before));
    const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
    for (const change of [
      { rollout: 50 },
      { status: 'paused' },
      { status: 'published' },
      { targets },
    ] as const) {
      await tenant.serve('1.1.0', change);
      const { '1.1.0': changed = '', ...others } = await editionsOf(tenant);
      expect(seen).not.toContain(changed);
      expect(others).toEqual({ '1.0.0': before['1.0.0'], '1.2.0': before['1.2.0'] });
      seen.add(changed);
    }
  });

  test('a first offer gives no new edition, and neither does a change of the channel', async () => {
    const { value, changed } = await tenant.release('1.0.0');
    const before = await editionsOf(tenant);
    await ledger.recordFirstOffer(changed[0]?.channelId ?? '', value.id, { epoch: 0, revision: 2 });
    await tenant.setChannel({ updateMode: 'recommended' });
    const snapshot = await tenant.stable();
    expect(snapshot).toMatchObject({ updateMode: 'recommended', releases: [{ offered: true }] });
    expect(await editionsOf(tenant)).toEqual(before);
  });

  test('late artifacts give a new edition, however they are written', async () => {
    const { value } = await tenant.release('1.0.0', { artifacts: [] });
    const seen = new Set(Object.values(await editionsOf(tenant)));
    const statements = [
      "INSERT INTO artifacts (release_id, position, platform) VALUES ($1, 0, 'linux')",
      "UPDATE artifacts SET platform = 'windows' WHERE release_id = $1",
      'DELETE FROM artifacts WHERE release_id = $1',
    ];
    for (const [index, statement] of statements.entries()) {
      await database.query(statement, [value.id]);
      const [edition = ''] = Object.values(await editionsOf(tenant));
      expect(seen).not.toContain(edition);
      expect(seen.add(edition).size).toBe(index + 2);
    }
  });

  test('what is known is not read again: the same object comes back', async () => {
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await tenant.release(version);
    const known = await tenant.stable();
    await tenant.serve('1.1.0', { rollout: 7 });
    await tenant.release('1.3.0');
    const next = await ledger.readSnapshot(tenant.app, 'stable', known);
    if (typeof next === 'string') throw new Error(next);
    expect(next).toEqual(await tenant.stable());
    expect(next.releases.map((release) => known.releases.includes(release))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    const elsewhere = await createTenant(ledger);
    // At the revision of what is known, with its versions.
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await elsewhere.release(version);
    const whole = await ledger.readSnapshot(elsewhere.app, 'stable');
    expect(await ledger.readSnapshot(elsewhere.app, 'stable', known)).toEqual(whole);
    const [first, ...others] = known.releases;
    if (first === undefined) throw new Error('no release');
    const altered = { ...known, releases: [{ ...first, notes: 'held' }, ...others] };
    const reused = await ledger.readSnapshot(tenant.app, 'stable', altered);
    expect(reused).toMatchObject({ releases: [{ notes: 'held' }, {}, {}, {}] });
  });

  test('a release that changes between the index and the releases is read in a state with both', async () => {
    for (const version of ['1.0.0', '1.1.0']) await tenant.release(version);
    let reads = 0;
    const changing: Database = {
      query: async <Row>(text: string, values?: readonly unknown[]) => {
        const rows = await database.query<Row>(text, values);
        reads += 1;
        if (reads === 1) await tenant.serve('1.0.0', { rollout: 30 });
        return rows;
      },
      runScript: (text) => database.runScript(text),
      transaction: (work) => database.transaction(work),
      close: () => database.close(),
    };
    const read = await readSnapshot(changing, tenant.app, 'stable');
    expect(read).toMatchObject({ releases: [{ rolloutPct: 30 }, { rolloutPct: 100 }] });
    expect(read).toEqual(await tenant.stable());
    expect(reads).toBe(2);
  });

  test('every column of a release is known to be immutable, or to renew the edition', async () => {
    const columns = await database.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_name = 'releases' ORDER BY column_name`,
    );
    const immutable = ['id', 'channel_id', 'version', 'canonical_version'];
    immutable.push('created_at', 'source', 'number');
    const renewing = ['status', 'rollout_pct', 'targets', 'notes', 'retried_at'];
    const besides = ['offered_at', 'edition', 'content_bytes', 'hold', 'announced_at'];
    besides.push(
      'published_at',
      'is_watched',
      'announced_by',
      'host_id',
      'host_tag',
      'called_back',
    );
    besides.push('host_published_at', 'host_files_at');
    expect(columns.map(({ name }) => name)).toEqual([...immutable, ...renewing, ...besides].sort());
  });
}
