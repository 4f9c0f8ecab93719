// SQL implementation of what edges need of the ledger. Each method is one function of query/.

import type { EdgeLedger } from '../edge-ledger.ts';
import { createEdgeToken } from './create-edge-token.ts';
import type { Database } from './database.ts';
import { findEdgeToken } from './find-edge-token.ts';
import { findReleaseApps } from './find-release-apps.ts';
import { listEdgeTokens } from './list-edge-tokens.ts';
import { readChannelStates } from './read-channel-states.ts';
import { revokeEdgeToken } from './revoke-edge-token.ts';

/** Creates the part of the ledger on a database. */
export function createSqlEdgeLedger(database: Database): EdgeLedger {
  return {
    createEdgeToken: (token, actor) => createEdgeToken(database, token, actor),
    listEdgeTokens: () => listEdgeTokens(database),
    revokeEdgeToken: (id, actor) => revokeEdgeToken(database, id, actor),
    findEdgeToken: (prefix) => findEdgeToken(database, prefix),
    findReleaseApps: (releaseIds) => findReleaseApps(database, releaseIds),
    readChannelStates: (countMax) => readChannelStates(database, countMax),
  };
}
