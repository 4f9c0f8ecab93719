// Assembles the part that answers devices: catalogs, decisions, limits, and the routes of updaters, downloads
// and feeds. It needs only the serving part of a ledger.

import { DeviceLimit } from '../../fleet/device-limit.ts';
import { DeviceGate } from '../../http/device/device-gate.ts';
import type { DeviceRouteDependencies } from '../../http/device/device-route.ts';
import { downloadRoutes, packageRoute } from '../../http/device/download-routes.ts';
import { sliceRoute } from '../../http/device/slice-route.ts';
import { type UpdaterRoute, updaterRoute } from '../../http/device/updater-route.ts';
import {
  RenderedAppcasts,
  RenderedReleaseNotes,
  releaseNotesRoutes,
} from '../../http/notes/feed-routes.ts';
import { NotesRenderer } from '../../http/notes/notes-renderer.ts';
import { Traffic } from '../../http/transport/request-observation.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { StoreHealth } from '../../observe/store-health.ts';
import { CheckUpdate } from '../../serving/check-update.ts';
import { FirstOffers, SharedOffers } from '../../serving/first-offers.ts';
import { NodeHealth, Readiness, WarmUp } from '../../serving/readiness.ts';
import type { Config } from '../../settings/settings.ts';
import type { Engine } from '../../store/engine.ts';
import { ELECTRON, ELECTRON_FOR_ARCH } from '../../updater/electron.ts';
import { MANIFEST } from '../../updater/manifest.ts';
import { sparkle } from '../../updater/sparkle.ts';
import { SQUIRREL_MAC, SQUIRREL_MSIX } from '../../updater/squirrel-mac.ts';
import { SQUIRREL_WINDOWS } from '../../updater/squirrel-windows.ts';
import { VELOPACK } from '../../updater/velopack.ts';
import { requestWatcher } from './observe-requests.ts';
import { assembleCatalogs, type Fleet } from './shared-parts.ts';
import type { ServingStores, StoresOptions } from './stores.ts';

export type DeviceSide = ReturnType<typeof assembleDeviceSide>;

/** Assembles the part that answers devices; starts nothing. */
export function assembleDeviceSide(
  options: Pick<StoresOptions, 'config' | 'log' | 'metrics' | 'tracing'> & {
    readonly rareLog: RareLog;
    readonly stores: ServingStores & { readonly healths: readonly StoreHealth[] };
    readonly fleet: Pick<Fleet, 'labels' | 'checkIns' | 'clock' | 'mistakenIds'>;
    /** Returns the base URL of the service, once it is known. */
    readonly address: () => string;
  },
) {
  const { config, log, rareLog, metrics, stores, fleet, tracing } = options;
  const { ledger, engine, diskSnapshots } = stores;
  const { known, knownPoll, catalogs, refresher } = assembleCatalogs(
    log,
    metrics,
    stores,
    fleet.clock,
  );
  metrics.gauge('sluice_known_channels', 'Channels whose names this node knows', () => known.size);
  metrics.gauge('sluice_catalogs', 'Channels this node holds', () => catalogs.size);
  const warmUp = new WarmUp(catalogs, known, log);
  const isEdge = stores.healths.some(({ store }) => store === 'upstream');
  const readiness = new Readiness({
    ...{ ledger, catalogs, diskSnapshots, warmUp },
    ledgerName: isEdge ? 'upstream' : 'ledger',
    sharedEngine: config.redisUrl === undefined ? undefined : engine,
  });
  const { healths, refusalOf } = stores;
  const health = new NodeHealth(readiness, healths, config.readyUnconfirmedMsMax, refusalOf);
  metrics.gauge(
    'sluice_catalog_unconfirmed_seconds',
    'Seconds since a store last answered',
    () => Math.round(health.unconfirmedMs / 100) / 10,
  );
  const traffic = new Traffic(log, metrics, requestWatcher(config, log, tracing));
  const notes = new NotesRenderer();
  const firstOffers = new FirstOffers({
    ledger,
    shared: new SharedOffers({ engine, catalogs, metrics, log: rareLog }),
    // Half of the connections, so that slow calls leave some for publishers.
    callsMax: Math.floor(config.databasePool / 2),
    tracing,
    metrics,
    log: rareLog,
  });
  const check = new CheckUpdate({ ...fleet, catalogs, firstOffers, metrics });
  const gate = assembleGate(config, metrics, engine);
  const { address } = options;
  const appcasts = new RenderedAppcasts(notes, address, metrics);
  // The server calls updater routes directly; the router has a placeholder for each.
  const updaters = assembleUpdaters({ check, gate, traffic }, appcasts);
  const routes = [
    ...updaters.map(({ placeholder }) => placeholder),
    packageRoute({ catalogs, gate }),
    ...downloadRoutes({ catalogs, gate }),
    ...releaseNotesRoutes({ catalogs, gate }, new RenderedReleaseNotes(notes, address)),
  ];
  return {
    ...{ catalogs, refresher, knownPoll, warmUp, readiness, health, traffic, notes },
    ...{ firstOffers, check, gate, updaters, routes },
  };
}

/** Lists the routes of updaters, and the route of cacheable decisions, whose clients ask for slices. */
export function assembleUpdaters(
  dependencies: DeviceRouteDependencies,
  appcasts: RenderedAppcasts,
): readonly UpdaterRoute[] {
  return [
    updaterRoute(MANIFEST, dependencies),
    updaterRoute(ELECTRON, dependencies),
    updaterRoute(ELECTRON_FOR_ARCH, dependencies),
    updaterRoute(SQUIRREL_MAC, dependencies),
    updaterRoute(SQUIRREL_MSIX, dependencies),
    updaterRoute(SQUIRREL_WINDOWS, dependencies),
    updaterRoute(VELOPACK, dependencies),
    updaterRoute(sparkle(appcasts), dependencies),
    sliceRoute(dependencies),
  ];
}

/** Assembles the gate that every device request passes. Only with Redis do processes share the limit. */
function assembleGate(config: Config, metrics: Metrics, engine: Engine): DeviceGate {
  const isShared = config.redisUrl !== undefined;
  const limit = new DeviceLimit({ engine, isShared, metrics });
  metrics.gauge(
    'sluice_devices_busy',
    'Devices that call too often to be counted in passing',
    () => limit.windows.busyCount,
  );
  // Without a limit per network, the network of a device is not needed.
  const readsNetworks = config.newDevicesPerAddressPerMinute > 0;
  return new DeviceGate(limit, config.trustProxy, readsNetworks);
}
