// SQL implementation of what edges need of the ledger. Each method is one function of query/.

import type { EdgeLedger } from '../ports/edge-ledger.ts';
import type { Database } from './database.ts';
import { createEdgeToken } from './query/create-edge-token.ts';
import { findEdgeToken } from './query/find-edge-token.ts';
import { findReleaseApps } from './query/find-release-apps.ts';
import { listEdgeTokens } from './query/list-edge-tokens.ts';
import { readChannelStates } from './query/read-channel-states.ts';
import { revokeEdgeToken } from './query/revoke-edge-token.ts';

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
