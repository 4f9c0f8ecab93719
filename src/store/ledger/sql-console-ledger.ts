// SQL implementation of the ledger's reads for the console. Each method is one function of query/.

import type { ConsoleLedger } from '../console-ledger.ts';
import { listAppOverviews } from './apps.ts';
import { listChannelReleases } from './channel-releases.ts';
import { countLabels } from './count-labels.ts';
import { countSeen } from './count-seen.ts';
import type { Database } from './database.ts';
import { readAdoptionSteps } from './fleet-counts.ts';
import { listKeys } from './list-keys.ts';
import { readChannel } from './read-channel.ts';
import { recordKeyUses } from './record-key-uses.ts';
import { readReleaseDetail } from './release-reads.ts';
import { searchOrganization } from './search-organization.ts';
import { withoutCompiling } from './without-compiling.ts';

/** Creates the console part of the ledger on a database, as `createSqlLedger` requires it. */
export function createSqlConsoleLedger(database: Database): ConsoleLedger {
  return {
    listKeys: (organizationId) => listKeys(database, organizationId),
    recordKeyUses: (uses) => recordKeyUses(database, uses),
    listAppOverviews: (organizationId, seenSince) =>
      listAppOverviews(database, organizationId, seenSince),
    readChannel: (app, name) => readChannel(database, app, name),
    countSeen: (appId, channel, since) => countSeen(database, appId, channel, since),
    search: (organizationId, text) => searchOrganization(database, organizationId, text),
    listChannelReleases: (appId, channel, wanted) =>
      withoutCompiling(database, (sql) => listChannelReleases(sql, appId, channel, wanted)),
    readReleaseDetail: (app, channel, canonicalVersion) =>
      readReleaseDetail(database, app, channel, canonicalVersion),
    countLabels: (appId) => countLabels(database, appId),
    readAdoptionSteps: (appId, filter) => readAdoptionSteps(database, appId, filter),
  };
}
