// Runs the ledger's rules on PGlite and on PostgreSQL.

import { describe, inject } from 'vitest';
import { describeChannelBound } from './channel-bound-contract.ts';
import { describeChannelNames } from './channel-names-contract.ts';
import { describeEdges } from './edge-contract.ts';
import { describeEditions } from './edition-contract.ts';
import { describeFleet } from './fleet-contract.ts';
import { describeFollowing } from './following-contract.ts';
import { describeGuardTrips } from './guard-trip-contract.ts';
import { describeIdempotency } from './idempotency-contract.ts';
import { describeLedger } from './ledger-contract.ts';
import { describeLostRights } from './lost-right-contract.ts';
import { describePlans } from './plan-contract.ts';
import { describeRewinds } from './rewind-contract.ts';
import { describeSignals } from './signal-contract.ts';
import { openTestPglite, openTestPostgres } from './test-database.ts';
import { describeTrouble } from './trouble-contract.ts';
import { describeVersionKeys } from './version-key-contract.ts';
import { describeWebhooks } from './webhook-contract.ts';

const postgresUrl = inject('postgresUrl');

describeIdempotency('PGlite', openTestPglite);
describeLedger('PGlite', openTestPglite);
describeFleet('PGlite', openTestPglite);
describeWebhooks('PGlite', openTestPglite);
describeLostRights('PGlite', openTestPglite);
describeChannelNames('PGlite', openTestPglite);
describeEditions('PGlite', openTestPglite);
describeChannelBound('PGlite', openTestPglite);
describeRewinds('PGlite', openTestPglite);
describeFollowing('PGlite', openTestPglite);
describePlans('PGlite', openTestPglite);
describeSignals('PGlite', openTestPglite);
describeTrouble('PGlite', openTestPglite);
describeEdges('PGlite', openTestPglite);
describeGuardTrips('PGlite', openTestPglite);
describeVersionKeys('PGlite', openTestPglite);

if (postgresUrl === '') {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('ledger on PostgreSQL (skipped: no PostgreSQL on this machine)', () => undefined);
} else {
  describeIdempotency('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeLedger('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeFleet('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeWebhooks('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeLostRights('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeChannelNames('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeEditions('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeChannelBound('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeRewinds('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeFollowing('PostgreSQL', () => openTestPostgres(postgresUrl));
  describePlans('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeSignals('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeTrouble('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeEdges('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeGuardTrips('PostgreSQL', () => openTestPostgres(postgresUrl));
  describeVersionKeys('PostgreSQL', () => openTestPostgres(postgresUrl));
}
