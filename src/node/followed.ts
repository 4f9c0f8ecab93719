// Assembly of what edges ask a node that they follow.

import { AuthenticateEdge } from '../edge/server/edge-tokens.ts';
import { EdgeDevices } from '../edge/server/edge-devices.ts';
import { EdgeIndex } from '../edge/server/edge-index.ts';
import { EdgeSnapshots } from '../edge/server/edge-snapshots.ts';
import { edgeRoutes } from '../http/edge/edge-routes.ts';
import type { Route } from '../http/router.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Catalogs } from '../serving/catalogs.ts';
import { EdgeAhead } from '../serving/edge-ahead.ts';
import type { FirstOffers } from '../serving/first-offers.ts';
import type { Config } from '../settings/settings.ts';
import { assembleAdmission, rememberRecorded } from './assemble-admission.ts';
import type { Secrets } from './secrets.ts';
import type { Fleet } from './shared-parts.ts';
import type { Stores } from './stores.ts';

export type FollowedOptions = {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly rareLog: RareLog;
  readonly metrics: Metrics;
  readonly stores: Pick<Stores, 'ledger' | 'engine' | 'report'>;
  readonly fleet: Pick<Fleet, 'labels' | 'clock'>;
  readonly catalogs: Catalogs;
  readonly firstOffers: FirstOffers;
};

/** Builds the routes for edges, and the index that they follow, which has to be started. */
export function assembleFollowed({
  config,
  secrets,
  log,
  rareLog,
  metrics,
  stores,
  fleet,
  catalogs,
  firstOffers,
}: FollowedOptions): { readonly routes: readonly Route[]; readonly index: EdgeIndex } {
  const { ledger, engine } = stores;
  const now = () => fleet.clock.now();
  const index = new EdgeIndex({ ledger, now, metrics, log: rareLog });
  metrics.gauge(
    'sluice_edges_waiting',
    'Edges that wait for a change of what they follow',
    () => index.waitingCount,
  );
  const devices = new EdgeDevices({
    ledger,
    queue: engine,
    isQueueInProcess: config.redisUrl === undefined,
    admission: assembleAdmission(config, ledger, log, rememberRecorded(engine)),
    labels: fleet.labels,
    servedOf: (scope, appIds) => index.servedOf(scope, appIds),
  });
  const routes = edgeRoutes({
    edges: new AuthenticateEdge(ledger),
    signer: secrets.signer,
    index,
    ahead: new EdgeAhead({ index, signer: secrets.signer, ledger, report: stores.report }),
    snapshots: new EdgeSnapshots({ catalogs, index, firstOffers }),
    devices,
    now,
  });
  return { routes, index };
}
