// Tests the archiving of apps on PostgreSQL only: what waits for it, what does not, and that all ends.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import { lockWebhooks } from '../../../src/store/ledger/release/webhooks.ts';
import { createTenant, expectValue, OPERATOR } from './ledger-fixture.ts';
import { describeOnPostgres } from './test-database.ts';

describeOnPostgres('archived apps on PostgreSQL', ({ database, ledger }) => {
  test('a release and a channel do not wait for a change of the app’s webhooks', async () => {
    const tenant = await createTenant(ledger);
    await database.transaction(async (sql) => {
      await lockWebhooks(sql, tenant.appId);
      await tenant.release('1.0.0');
      expectValue(await ledger.createChannel(tenant.app, 'beta', OPERATOR));
    });
  });

  test('what is under way is before the archive or refused, and all of it ends', async () => {
    for (let round = 0; round < 4; round++) {
      const tenant = await createTenant(ledger, ['stable', 'beta']);
      const { organizationId, app } = tenant;
      const add = (version: string) => tenant.publish(version, {}, { actor: OPERATOR });
      const [, ...outcomes] = await Promise.all([
        ledger.updateChannel({
          input: { app, channel: 'beta', change: { follows: 'stable' } },
          actor: OPERATOR,
        }),
        add('1.0.0'),
        ledger.createChannel(app, 'nightly', OPERATOR),
        ledger.updateApp({ input: { app, change: { archived: true } }, actor: OPERATOR }),
        add('2.0.0'),
        ledger.createChannel(app, 'weekly', OPERATOR),
      ]);
      const refusals = outcomes.filter((outcome) => isFailure(outcome));
      expect(refusals).toEqual(refusals.map(() => fail('appArchived')));
      const audit = expectValue(await ledger.listAudit(organizationId, { limit: 20 }));
      const actions = audit.entries.map(({ action }) => action);
      const later = actions.slice(0, actions.indexOf('app.update'));
      expect(later.filter((action) => action !== 'channel.update')).toEqual([]);
      expect(await add('3.0.0')).toEqual(fail('appArchived'));
    }
  });
});
