// Assembly of a serving process: builds its parts, starts them in order of their dependencies and stops them
// in reverse.

import { ClockWatch } from '../fleet/ledger-clock.ts';
import {
  type ConnectionLimit,
  type RequestHandler,
  type Server,
  startServer,
} from '../http/server.ts';
import type { ReadMetrics } from '../http/health-routes.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { TellNode } from '../publishing/spread-in-node.ts';
import type { NodeState } from '../serving/node-health.ts';
import { type Config, reachableHost } from '../settings/settings.ts';
import type { ChannelRevision } from '../store/changed.ts';
import { assembleConnectionLimit } from './assemble-connection-limit.ts';
import { assembleBackground } from './background-process.ts';
import { openTracing } from './open-tracing.ts';
import { reloadable } from './reloadable.ts';
import { Secrets } from './secrets.ts';
import { assembleServing } from './serving-process.ts';
import { assembleFleet } from './shared-parts.ts';
import { fromSetting } from './stores.ts';
import { watchStores } from './watch-stores.ts';

export type Service = {
  /** Base URL of the service, as printed at the start and written into feeds. */
  readonly address: string;
  readonly port: number;
  /** Port of the admin address, when this process serves it. */
  readonly adminPort: number | undefined;
  /** Says whether this process can decide, and what it does without. */
  state(): Promise<NodeState>;
  /** Serves changes that another process of the node has made. */
  follow(changes: readonly ChannelRevision[]): Promise<void>;
  /** Makes this process not ready for good, and each reply its connection's last; it goes on accepting. */
  drain(): void;
  /** Takes over the settings that may change while the service runs; never rejects. */
  reload(config: Config): Promise<void>;
  /** Stops accepting new connections; open ones are still served. */
  close(): void;
  /** Stops accepting, finishes the requests in flight and closes the stores. */
  stop(): Promise<void>;
};

export type ServiceOptions = {
  readonly metrics: Metrics;
  /** Source of the text that `/metrics` answers. */
  readonly readMetrics: ReadMetrics;
  /** Whether this process also runs the background work, instead of a process of its own. */
  readonly hasBackground: boolean;
  /** Number of this serving process and the port shared with the others; undefined for a single process. */
  readonly worker?: { readonly number: number; readonly port: number } | undefined;
  /** Tells the other processes of the node of changes; undefined where there are none that serve. */
  readonly tellNode?: TellNode | undefined;
};

const IN_FLIGHT_WAIT_MS_MAX = 6500;

/**
 * Starts the process; rejects when the port is taken, the data directory is in use or the schema is newer.
 */
export async function composeService(
  config: Config,
  log: Log,
  { metrics, readMetrics, hasBackground, worker, tellNode }: ServiceOptions,
): Promise<Service> {
  const tracing = await openTracing(config, log, worker?.number);
  const stores = await watchStores({ config, log, metrics, tracing, holder: worker?.number });
  const fleet = assembleFleet(config, stores, metrics, log);
  const secrets = new Secrets(config);
  let address = config.publicUrl ?? '';
  const serving = assembleServing({
    ...{ config, secrets, log, metrics, stores, fleet, readMetrics },
    address: () => address,
    worker: worker?.number,
    tellNode,
    tracing,
  });
  const background = hasBackground
    ? assembleBackground(config, log, metrics, stores, { ...fleet, changes: serving.changes })
    : undefined;
  const { clock } = fleet;
  const clockWatch = new ClockWatch({ clock, metrics, log, isTelling: hasBackground });
  // Before the first check, whose check-in gets the ledger's time.
  await clockWatch.start();
  serving.start();
  await serving.warmUp.start();
  const connectionLimit = assembleConnectionLimit(metrics, log);
  const server = await fromSetting('HOST, PORT', () =>
    startServer({
      host: config.host,
      port: worker?.port ?? config.port,
      isPortShared: worker !== undefined,
      connectionLimit,
      ...serving.handlers,
    }),
  );
  const admin = await startAdminServer(config, serving.adminRouter, connectionLimit);
  address = config.publicUrl ?? `http://${reachableHost(config.host)}:${server.port}`;
  fleet.start();
  serving.keyUses.start();
  background?.start();
  const close = (): void => {
    serving.close();
    server.stopAccepting();
    admin?.stopAccepting();
  };
  return {
    address,
    port: server.port,
    adminPort: admin?.port,
    state: serving.state,
    follow: serving.follow,
    drain: serving.drain,
    reload: reloadable(log, secrets, stores),
    close,
    async stop() {
      close();
      await serving.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      admin?.close();
      clockWatch.stop();
      await Promise.all([
        serving.refresher.stop(),
        serving.knownPoll.stop(),
        serving.warmUp.stop(),
      ]);
      // Buffered check-ins go to the engine first, so that the drain finds them there.
      await fleet.stop();
      await background?.stop();
      fleet.labels.stop();
      await serving.keyUses.stop();
      await serving.notes.stop();
      await serving.lastGood.flush();
      await stores.engine.close();
      await stores.ledger.close();
      await tracing?.stop();
    },
  };
}

/** Listens on the admin address for a process that serves it beside the port of the service. */
async function startAdminServer(
  { adminListen }: Config,
  router: RequestHandler | undefined,
  connectionLimit: ConnectionLimit,
): Promise<Server | undefined> {
  if (adminListen === undefined || router === undefined) return undefined;
  return fromSetting('ADMIN_LISTEN', () =>
    startServer({ ...adminListen, isPortShared: false, connectionLimit, direct: {}, router }),
  );
}
