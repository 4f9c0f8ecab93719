// Runs the rules of the ledger's port on its databases: all of them on PostgreSQL, and on PGlite the suites
// of ON_PGLITE; without PostgreSQL, or with SLUICE_MATRIX=embedded, all of them.

import { describe, inject } from 'vitest';
import { IS_EMBEDDED } from '../../support/matrix.ts';
import { describeAccounts } from './account-contract.ts';
import { describeActions } from './action-contract.ts';
import { describeAdoption } from './adoption-contract.ts';
import { describeApps } from './app-contract.ts';
import { describeApprovals } from './approval-contract.ts';
import { describeChannelBound } from './channel-bound-contract.ts';
import { describeChannelNames } from './channel-names-contract.ts';
import { describeCheckIns } from './check-in-contract.ts';
import { describeConsoleReads } from './console-contract.ts';
import { describeDatabase } from './database-contract.ts';
import { describeDdiCredentials } from './ddi-credential-contract.ts';
import { describeDeliveries } from './delivery-contract.ts';
import { describeDeliveryPlaces } from './delivery-places-contract.ts';
import { describeDeviceKeeping } from './device-keeping-contract.ts';
import { describeDeviceParts } from './device-parts-contract.ts';
import { describeEdges } from './edge-contract.ts';
import { describeEditions } from './edition-contract.ts';
import { describeFailureBreakdown } from './failure-breakdown-contract.ts';
import { describeFleetAdmission } from './fleet-admission-contract.ts';
import { describeFleetErasure } from './fleet-erase-contract.ts';
import { describeFleetPurge } from './fleet-purge-contract.ts';
import { describeFleetReads } from './fleet-reads-contract.ts';
import { describeFleetSweep } from './fleet-sweep-contract.ts';
import { describeFleetTime } from './fleet-time-contract.ts';
import { describeFollowing } from './following-contract.ts';
import { describeGuards } from './guard-contract.ts';
import { describeIdempotency } from './idempotency-contract.ts';
import { describeIdentities } from './identity-contract.ts';
import { describeLabels } from './labels-contract.ts';
import { describeLostRights } from './lost-right-contract.ts';
import { describePeopleMails } from './mail-contract.ts';
import { describeNotifications } from './notification-contract.ts';
import { describeOneTimeLinks } from './one-time-link-contract.ts';
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

type Rules = (on: LedgerUnderTest) => void;

/** Suites by title. Those of one group share a database, in this order. */
const GROUPS: readonly Readonly<Record<string, Rules>>[] = [
  {
    // First: it reads what a database without content has.
    edges: describeEdges,
    apps: describeApps,
    publishing: describePublishing,
    'serving control': describeServing,
    approvals: describeApprovals,
    stops: describeStops,
    'reads of releases': describeReleaseReads,
    editions: describeEditions,
    'following channels': describeFollowing,
    'bound of a channel': describeChannelBound,
    'names of channels': describeChannelNames,
    'idempotency keys': describeIdempotency,
    webhooks: describeWebhooks,
    'DDI credentials': describeDdiCredentials,
    'lost rights': describeLostRights,
    'version keys': describeVersionKeys,
    // Last: it closes the database.
    'the database': describeDatabase,
  },
  {
    // First: its database has no name yet.
    records: describeRecords,
    rewinds: describeRewinds,
  },
  {
    // First: the first account is of a database without accounts.
    accounts: describeAccounts,
    passkeys: describePasskeys,
    identities: describeIdentities,
    'a link': describeOneTimeLinks,
    'mails to people': describePeopleMails,
    'parts of the fleet': describeDeviceParts,
    'check-ins': describeCheckIns,
    labels: describeLabels,
    'reads of the fleet': describeFleetReads,
    adoption: describeAdoption,
    'time of the fleet': describeFleetTime,
    admission: describeFleetAdmission,
    sweep: describeFleetSweep,
    // After the sweep: each version that a device leaves is an empty count for that to delete.
    'keeping of devices': describeDeviceKeeping,
    purge: describeFleetPurge,
    erasure: describeFleetErasure,
    'actions of devices': describeActions,
    'the console': describeConsoleReads,
    'the overview': describeOverview,
  },
  { notifications: describeNotifications },
  { plans: describePlans },
  // Of their own: they lease every destination.
  { deliveries: describeDeliveries, 'places for deliveries': describeDeliveryPlaces },
  { 'plans that wait': describePlanWaits },
  {
    signals: describeSignals,
    'failure breakdown': describeFailureBreakdown,
    guards: describeGuards,
  },
];

/** Suites that run on PGlite as well, on one database in this order, each with what PGlite can change. */
const ON_PGLITE: Readonly<Record<string, string>> = {
  // First: it leases every destination.
  deliveries: 'windows, JSON and locks',
  'places for deliveries': 'windows over arrays',
  publishing: 'arrays, JSON, times and calls at once',
  approvals: 'savepoints, and JSON in the order of its keys',
  'version keys': 'its order of text',
  identities: 'how it orders arrivals at once',
  'a link': 'parts of a table, and what conflicts in one',
  'mails to people': 'what a transaction takes back',
  'parts of the fleet': 'its hashes and partitions',
  'check-ins': 'large arrays of parameters, JSON, any text',
  erasure: 'its hashes, and rows of its triggers',
  // Last: it closes the database.
  'the database': 'errors, transactions, migrations, closing',
};

const postgresUrl = inject('postgresUrl');
const hasPostgres = postgresUrl !== '';

if (hasPostgres) for (const group of GROUPS) runOn('PostgreSQL', postgres, Object.entries(group));
else {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('ledger on PostgreSQL (skipped: no PostgreSQL on this machine)', () => undefined);
}
if (!hasPostgres || IS_EMBEDDED) {
  for (const group of GROUPS) runOn('PGlite', openTestPglite, Object.entries(group));
} else {
  const all = new Map(GROUPS.flatMap((group) => Object.entries(group)));
  const suites = Object.keys(ON_PGLITE).map((title) => [title, all.get(title)] as const);
  runOn('PGlite', openTestPglite, suites);
}

function postgres() {
  return openTestPostgres(postgresUrl);
}

function runOn(
  name: string,
  open: typeof openTestPglite,
  suites: readonly (readonly [string, Rules | undefined])[],
): void {
  describeOn(`ledger on ${name}`, open, (on) => {
    for (const [title, rules] of suites) {
      if (rules === undefined) throw new Error(`No such suite: ${title}`);
      describe(title, () => rules(on));
    }
  });
}
