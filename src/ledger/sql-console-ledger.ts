// SQL implementation of the ledger's reads for the console. Each method is one function of query/.

import type { ConsoleLedger } from '../ports/console-ledger.ts';
import type { Database } from './database.ts';
import { countLabels } from './query/count-labels.ts';
import { countSeen } from './query/count-seen.ts';
import { listAppOverviews } from './query/list-app-overviews.ts';
import { listChannelReleases } from './query/list-channel-releases.ts';
import { listKeys } from './query/list-keys.ts';
import { readAdoptionSteps } from './query/read-adoption-steps.ts';
import { readChannel } from './query/read-channel.ts';
import { readReleaseDetail } from './query/read-release-detail.ts';
import { recordKeyUses } from './query/record-key-uses.ts';
import { searchOrganization } from './query/search-organization.ts';
import { withoutCompiling } from './query/without-compiling.ts';

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
