// Assembly of what edges ask a node that they follow.

import type { Config } from '../config.ts';
import { edgeRoutes } from '../http/edge/edge-routes.ts';
import type { Route } from '../http/router.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import { AuthenticateEdge } from '../operations/access/authenticate-edge.ts';
import { EdgeDevices } from '../operations/fleet/edge-devices.ts';
import type { Catalogs } from '../operations/serving/catalogs.ts';
import { EdgeAhead } from '../operations/serving/edge-ahead.ts';
import { EdgeIndex } from '../operations/serving/edge-index.ts';
import { EdgeSnapshots } from '../operations/serving/edge-snapshots.ts';
import type { FirstOffers } from '../operations/serving/first-offer.ts';
import { assembleAdmission, rememberRecorded } from './assemble-admission.ts';
import type { Fleet } from './fleet.ts';
import type { Secrets } from './secrets.ts';
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
