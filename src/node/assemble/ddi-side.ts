// Assembles the part that answers devices that speak DDI. Edges have none: they answer none of its addresses.

import { FOLLOWED_MS } from '../../fleet/action-feed.ts';
import { ActionRecord } from '../../fleet/action-record.ts';
import { UnstoredActions } from '../../fleet/unstored-actions.ts';
import { pause } from '../../flow/pause.ts';
import { DdiAdmission, type DdiAdmissionDependencies } from '../../http/device/ddi-admission.ts';
import { DdiPollRoute } from '../../http/device/ddi-poll-route.ts';
import { ddiRoutes } from '../../http/device/ddi-routes.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { DdiQueries } from '../../serving/ddi-queries.ts';
import { PollActions } from '../../serving/poll-actions.ts';
import { ReceiveReports } from '../../serving/receive-reports.ts';
import type { Config } from '../../settings/settings.ts';
import type { DeviceSide } from './device-side.ts';
import { assembleAdmission, type Fleet } from './shared-parts.ts';
import type { Stores } from './stores.ts';

type DdiOptions = Pick<DeviceSide, 'catalogs' | 'check' | 'gate' | 'traffic'> & {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: Stores;
  readonly fleet: Pick<Fleet, 'labels' | 'checkIns' | 'clock'>;
  readonly credentials: DdiAdmissionDependencies['credentials'];
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

/** First segment of the addresses. */
const PREFIX = '/ddi';
const PATH = `${PREFIX}/*`;

/** Assembles the routes, and the writing of what they change; starts nothing. */
export function assembleDdi(options: DdiOptions) {
  const { config, log, metrics, stores, fleet, catalogs, check, gate, traffic } = options;
  const { labels, checkIns, clock } = fleet;
  const { publicUrl, trustProxy } = config;
  const { unstored, actions } = assembleActions({ stores, log, metrics, clock });
  const shared = { queries: new DdiQueries(), actions, labels, checkIns, clock, metrics };
  const polls = new PollActions({ ...shared, check });
  const admission = assembleAdmission(config, stores.ledger, log);
  const reports = new ReceiveReports({ ...shared, unstored, admission });
  const door = new DdiAdmission({ catalogs, credentials: options.credentials, gate });
  return {
    unstored,
    actions,
    /** Handlers that bypass the router, by prefix. */
    direct: {
      [PREFIX]: new DdiPollRoute(PATH, {
        ...{ admission: door, gate, polls, publicUrl, trustProxy, traffic },
      }),
    },
    routes: ddiRoutes(PATH, { admission: door, reports, trustProxy, log }),
  };
}
