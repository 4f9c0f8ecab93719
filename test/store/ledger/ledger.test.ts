// Runs the rules of the ledger's port on its databases: all of them on PostgreSQL, and on PGlite those that
// its driver or its release of PostgreSQL can change. Without PostgreSQL, or with SLUICE_MATRIX=all, all of
// them run on PGlite too.

import { describe, inject } from 'vitest';
import { IS_WHOLE_MATRIX } from '../../support/matrix.ts';
import { describeAccounts } from './account-contract.ts';
import { describeAdoption } from './adoption-contract.ts';
import { describeApps } from './app-contract.ts';
import { describeApprovals } from './approval-contract.ts';
import { describeChannelBound } from './channel-bound-contract.ts';
import { describeChannelNames } from './channel-names-contract.ts';
import { describeCheckIns } from './check-in-contract.ts';
import { describeConsoleReads } from './console-contract.ts';
import { describeDatabase } from './database-contract.ts';
import { describeDeliveries } from './delivery-contract.ts';
import { describeDeviceKeeping } from './device-keeping-contract.ts';
import { describeDeviceParts } from './device-parts-contract.ts';
import { describeEdges } from './edge-contract.ts';
import { describeEditions } from './edition-contract.ts';
import { describeFailureBreakdown } from './failure-breakdown-contract.ts';
import { describeFleetAdmission } from './fleet-admission-contract.ts';
import { describeFleetCounts } from './fleet-counts-contract.ts';
import { describeFleetErasure } from './fleet-erase-contract.ts';
import { describeFleetPurge } from './fleet-purge-contract.ts';
import { describeFleetReads } from './fleet-reads-contract.ts';
import { describeFleetSweep } from './fleet-sweep-contract.ts';
import { describeFleetTime } from './fleet-time-contract.ts';
import { describeFollowing } from './following-contract.ts';
import { describeGuardTrips } from './guard-trip-contract.ts';
import { describeIdempotency } from './idempotency-contract.ts';
import { describeIdentities } from './identity-contract.ts';
import { describeLabels } from './labels-contract.ts';
import { describeLostRights } from './lost-right-contract.ts';
import { describeNotifications } from './notification-contract.ts';
import { describeOverview } from './overview-contract.ts';
import { describePasskeys } from './passkey-contract.ts';
import { describePlans } from './plan-contract.ts';
import { describePlanWaits } from './plan-wait-contract.ts';
import { describePublishing } from './publishing-contract.ts';
import { describeRecords } from './record-contract.ts';
import { describeReleaseReads } from './release-reads-contract.ts';
import { describeRewinds } from './rewind-contract.ts';
import { describeServing } from './serving-contract.ts';
import { describeSignals } from './signal-contract.ts';
import { describeStops } from './stop-contract.ts';
import {
  describeOn,
  type LedgerUnderTest,
  openTestPglite,
  openTestPostgres,
} from './test-database.ts';
import { describeVersionKeys } from './version-key-contract.ts';
import { describeWebhooks } from './webhook-contract.ts';

type Suite = {
  readonly rules: (on: LedgerUnderTest) => void;
  /** What PGlite can change; without it the suite runs on PostgreSQL alone. */
  readonly pglite?: string;
};

/** Suites by title. Those of one group share a database, in this order. */
const GROUPS: readonly Readonly<Record<string, Suite>>[] = [
  {
    // First: it reads what a database without content has.
    edges: { rules: describeEdges },
    apps: { rules: describeApps },
    publishing: { rules: describePublishing, pglite: 'arrays, JSON, times and calls at once' },
    'serving control': { rules: describeServing },
    approvals: {
      rules: describeApprovals,
      pglite: 'savepoints, and JSON in the order of its keys',
    },
    stops: { rules: describeStops, pglite: 'arrays of JSON, and locks of all channels' },
    'reads of releases': { rules: describeReleaseReads },
    editions: { rules: describeEditions },
    'following channels': { rules: describeFollowing },
    'bound of a channel': { rules: describeChannelBound },
    'names of channels': { rules: describeChannelNames },
    'idempotency keys': { rules: describeIdempotency },
    webhooks: { rules: describeWebhooks },
    'lost rights': { rules: describeLostRights },
    'version keys': { rules: describeVersionKeys, pglite: 'its order of text' },
    // Last: it closes the database.
    'the database': {
      rules: describeDatabase,
      pglite: 'errors, transactions, migrations, closing',
    },
  },
  {
    // First: its database has no name yet.
    records: { rules: describeRecords },
    rewinds: { rules: describeRewinds },
  },
  {
    // First: the first account is of a database without accounts.
    accounts: { rules: describeAccounts },
    passkeys: { rules: describePasskeys },
    identities: { rules: describeIdentities, pglite: 'how it orders arrivals at once' },
    'parts of the fleet': { rules: describeDeviceParts, pglite: 'its hashes and partitions' },
    'check-ins': { rules: describeCheckIns, pglite: 'large arrays of parameters, JSON, any text' },
    labels: { rules: describeLabels },
    'reads of the fleet': { rules: describeFleetReads },
    'counts of the fleet': { rules: describeFleetCounts },
    adoption: { rules: describeAdoption },
    'time of the fleet': { rules: describeFleetTime },
    admission: { rules: describeFleetAdmission },
    sweep: { rules: describeFleetSweep },
    // After the sweep: each version that a device leaves is an empty count for that to delete.
    'keeping of devices': { rules: describeDeviceKeeping },
    purge: { rules: describeFleetPurge },
    erasure: { rules: describeFleetErasure, pglite: 'its hashes, and rows of its triggers' },
    'the console': { rules: describeConsoleReads },
    'the overview': { rules: describeOverview },
  },
  {
    notifications: {
      rules: describeNotifications,
      pglite: 'rows of statements that depend on each other',
    },
  },
  { plans: { rules: describePlans } },
  // Of its own: it leases every destination.
  { deliveries: { rules: describeDeliveries, pglite: 'windows, JSON and locks' } },
  { 'plans that wait': { rules: describePlanWaits } },
  {
    signals: { rules: describeSignals },
    'failure breakdown': { rules: describeFailureBreakdown },
    'guard trips': { rules: describeGuardTrips },
  },
];

const postgresUrl = inject('postgresUrl');
const hasPostgres = postgresUrl !== '';

for (const group of GROUPS) {
  const all = Object.entries(group);
  const some = all.filter(([, { pglite }]) => pglite !== undefined);
  runOn('PGlite', openTestPglite, hasPostgres && !IS_WHOLE_MATRIX ? some : all);
  if (hasPostgres) runOn('PostgreSQL', () => openTestPostgres(postgresUrl), all);
}
if (!hasPostgres) {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('ledger on PostgreSQL (skipped: no PostgreSQL on this machine)', () => undefined);
}

function runOn(
  name: string,
  open: typeof openTestPglite,
  suites: readonly (readonly [string, Suite])[],
): void {
  if (suites.length === 0) return;
  describeOn(`ledger on ${name}`, open, (on) => {
    for (const [title, { rules }] of suites) describe(title, () => rules(on));
  });
}
