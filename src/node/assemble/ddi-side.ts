// Assembles the part that answers devices that speak DDI. Edges have none: they answer none of its addresses.

import { FOLLOWED_MS } from '../../fleet/action-feed.ts';
import { ActionRecord } from '../../fleet/action-record.ts';
import { UnstoredActions } from '../../fleet/unstored-actions.ts';
import { pause } from '../../flow/pause.ts';
import { ddiRoutes } from '../../http/device/ddi-route.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { DdiQueries } from '../../serving/ddi-queries.ts';
import { PollActions } from '../../serving/poll-actions.ts';
import { ReceiveReports } from '../../serving/receive-reports.ts';
import type { Config } from '../../settings/settings.ts';
import type { DeviceSide } from './device-side.ts';
import { assembleAdmission, type Fleet } from './shared-parts.ts';
import type { Stores } from './stores.ts';

type DdiOptions = Pick<DeviceSide, 'catalogs' | 'check' | 'gate'> & {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: Stores;
  readonly fleet: Pick<Fleet, 'labels' | 'checkIns' | 'clock'>;
  readonly credentials: Parameters<typeof ddiRoutes>[0]['credentials'];
};

type ActionOptions = Pick<DdiOptions, 'log' | 'metrics'> & {
  readonly stores: Pick<Stores, 'ledger' | 'engine'>;
  readonly clock: Fleet['clock'];
};

/** Assembles the actions of devices, and the writing of what changes in this process; starts nothing. */
export function assembleActions({ stores, log, metrics, clock }: ActionOptions) {
  const { ledger, engine } = stores;
  const unstored = new UnstoredActions({ ledger, engine, metrics, log });
  metrics.gauge(
    'sluice_ddi_actions_held',
    'Devices whose actions the database does not have yet',
    () => unstored.size,
  );
  const now = () => clock.now();
  const untilFollowed = () => pause(FOLLOWED_MS);
  const actions = new ActionRecord({ ledger, engine, unstored, untilFollowed, now, metrics });
  return { unstored, actions };
}

/** Assembles the routes, and the writing of what they change; starts nothing. */
export function assembleDdi(options: DdiOptions) {
  const { config, log, metrics, stores, fleet, catalogs, check, gate, credentials } = options;
  const { labels, checkIns, clock } = fleet;
  const { unstored, actions } = assembleActions({ stores, log, metrics, clock });
  const shared = { queries: new DdiQueries(), actions, labels, clock, metrics };
  const admission = assembleAdmission(config, stores.ledger, log);
  return {
    unstored,
    actions,
    routes: ddiRoutes({
      ...{ catalogs, credentials, gate },
      polls: new PollActions({ ...shared, check, checkIns }),
      reports: new ReceiveReports({ ...shared, unstored, admission, checkIns }),
      publicUrl: config.publicUrl,
      trustProxy: config.trustProxy,
      log,
    }),
  };
}
