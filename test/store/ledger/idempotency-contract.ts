// Rules of idempotency keys in the ledger port. Those that need no clock are
// tested over HTTP (test/service/idempotent-publish.test.ts).

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import { createTenant, expectValue, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeIdempotency({ database, ledger }: LedgerUnderTest): void {
  function publish(tenant: TestTenant, keyId: string, version: string) {
    const repeat = { keyId, idempotencyKey: 'run-1', request: version };
    return tenant.publish(version, {}, { repeat });
  }

  /** Makes all keys older. */
  function age(interval: string): Promise<unknown> {
    return database.query(`UPDATE idempotency_keys SET used_at = used_at - interval '${interval}'`);
  }

  test('a key is free again after 24 hours, swept or not (§11.18)', async () => {
    const tenant = await createTenant(ledger);
    const keyId = (await tenant.key()).id;
    expectValue(await publish(tenant, keyId, '1.0.0'));
    await age('23 hours 59 minutes');
    expect(await publish(tenant, keyId, '2.0.0')).toEqual(fail('idempotencyKeyUsed'));
    expect(expectValue(await publish(tenant, keyId, '1.0.0')).isRepeated).toBe(true);
    await age('1 minute');
    expect(await publish(tenant, keyId, '1.0.0')).toEqual(fail('versionExists'));
    expect(expectValue(await publish(tenant, keyId, '2.0.0')).isRepeated).toBe(false);
    expect(expectValue(await publish(tenant, keyId, '2.0.0')).isRepeated).toBe(true);
  });

  test('keys that are over are forgotten, some at a time (§11.18)', async () => {
    await database.query('DELETE FROM idempotency_keys');
    for (let count = 0; count < 3; count++) {
      const tenant = await createTenant(ledger);
      expectValue(await publish(tenant, (await tenant.key()).id, '1.0.0'));
    }
    expect(await ledger.forgetIdempotencyKeys(10)).toBe(0);
    await age('24 hours');
    expect(await ledger.forgetIdempotencyKeys(2)).toBe(2);
    expect(await ledger.forgetIdempotencyKeys(2)).toBe(1);
    expect(await ledger.forgetIdempotencyKeys(2)).toBe(0);
  });
}
