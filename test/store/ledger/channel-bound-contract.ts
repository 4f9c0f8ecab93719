// Rules of the ledger port about the bound of a channel (§8.1).

import { expect, test } from 'vitest';
import { isFailure } from '../../../src/contract/failure.ts';
import { LIMIT } from '../../../src/contract/limit.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const INTEGRATION_ARTIFACT = { platform: 'linux', url: 'https://x.example/a' };

export function describeChannelBound({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);

  /** Gives the tenant's stable channel as many releases, of any status. */
  async function fill(tenant: TestTenant, count: number): Promise<void> {
    await writeInBulk(
      database,
      `INSERT INTO releases (id, channel_id, version, canonical_version, notes, status, rollout_pct)
       SELECT $1 || n, channels.id, '0.0.' || n, '0.0.' || n, '', 'rolled_back', 100
       FROM channels, generate_series(1, $2::integer) AS n
       WHERE channels.app_id = $1 AND channels.name = 'stable'`,
      [tenant.appId, count],
    );
  }

  /** Returns the bytes that the ledger counts for each version. */
  async function bytesOf(tenant: TestTenant): Promise<Record<string, number>> {
    const rows = await database.query<{ version: string; bytes: number }>(
      `SELECT version, releases.content_bytes AS bytes FROM releases
       JOIN channels ON channels.id = channel_id WHERE app_id = $1`,
      [tenant.appId],
    );
    return Object.fromEntries(rows.map(({ version, bytes }) => [version, bytes]));
  }

  test('10,000 releases fit, and not one more, also of several at once; what is there is served and steered (§8.1)', async () => {
    await fill(tenant, LIMIT.channelReleasesMax - 1);
    const refusal = { failure: 'channelFull', message: expect.stringContaining('10000 releases') };
    const versions = ['1.0.0', '1.1.0', '1.2.0'];
    const outcomes = await Promise.all(versions.map((version) => tenant.publish(version)));
    expect(outcomes.filter(isFailure)).toMatchObject([refusal, refusal]);
    const landed = versions[outcomes.findIndex((outcome) => !isFailure(outcome))] ?? '';
    expect(await tenant.publish(landed)).toMatchObject({ failure: 'versionExists' });
    const before = await tenant.stable();
    expect(before.releases).toHaveLength(LIMIT.channelReleasesMax);
    await tenant.serve(landed, { status: 'paused' });
    expect((await tenant.stable()).revision).toBe(before.revision + 1);
  });

  test('64 MiB of notes and artifacts fit, and not a byte more (§8.1)', async () => {
    await tenant.release('1.0.0', { artifacts: [] });
    const left = 1000;
    await database.query(
      `UPDATE releases SET content_bytes = $2 WHERE channel_id IN (
         SELECT id FROM channels WHERE app_id = $1)`,
      [tenant.appId, LIMIT.channelContentBytesMax - left],
    );
    const message = expect.stringContaining('64 MiB');
    const over = await tenant.publish('1.1.0', { notes: 'n'.repeat(left + 1) });
    expect(over).toMatchObject({ failure: 'channelFull', message });
    const fits = await tenant.publish('1.1.0', { notes: 'n'.repeat(left) });
    expect(fits).toMatchObject({ value: { version: '1.1.0' } });
  });

  test('the sums of a channel are those of its releases, whatever changes them', async () => {
    const isRight = async (): Promise<boolean> => {
      const [sums] = await database.query<{ right: boolean }>(
        `SELECT release_count = (SELECT count(*) FROM releases WHERE channel_id = channels.id)
           AND content_bytes = (
             SELECT coalesce(sum(content_bytes), 0) FROM releases WHERE channel_id = channels.id
           ) AS right
         FROM channels WHERE app_id = $1 AND name = 'stable'`,
        [tenant.appId],
      );
      return sums?.right === true;
    };
    await fill(tenant, 20);
    expect(await isRight()).toBe(true);
    const { value, changed } = await tenant.release('1.0.0', { notes: 'notes' });
    expect(await isRight()).toBe(true);
    const { channelId = '' } = changed[0] ?? {};
    await ledger.recordFirstOffer(channelId, value.id, { epoch: 0, revision: 2 });
    await tenant.serve('1.0.0', { status: 'paused' });
    for (const statement of [
      "UPDATE artifacts SET url = url || '/longer' WHERE release_id = $1",
      'DELETE FROM artifacts WHERE release_id = $1',
      'DELETE FROM releases WHERE id = $1',
    ]) {
      await database.query(statement, [value.id]);
      expect(await isRight()).toBe(true);
    }
  });

  test('bytes are those of the notes and the artifacts, late ones included', async () => {
    await tenant.release('1.0.0', { notes: 'é', artifacts: [] });
    await tenant.release('1.1.0', {
      notes: 'note',
      artifacts: [{ platform: 'linux', arch: 'x86_64', url: 'https://a', sha512: 'ab', size: 7 }],
    });
    const artifact = 64 + 'linux'.length + 'x86_64'.length + 'https://a'.length + 'ab'.length;
    expect(await bytesOf(tenant)).toEqual({ '1.0.0': 2, '1.1.0': 4 + artifact });
    await writeInBulk(
      database,
      `INSERT INTO artifacts (release_id, position, platform, url)
       SELECT releases.id, 0, $2, $3 FROM releases JOIN channels ON channels.id = channel_id
       WHERE app_id = $1 AND version = '1.0.0'`,
      [tenant.appId, INTEGRATION_ARTIFACT.platform, INTEGRATION_ARTIFACT.url],
    );
    const late = 64 + 'linux'.length + INTEGRATION_ARTIFACT.url.length;
    expect(await bytesOf(tenant)).toEqual({ '1.0.0': 2 + late, '1.1.0': 4 + artifact });
  });
}
