// A serving process: puts the rooms together, starts them in the order in which they need each other, and
// stops them in the other one.

import { type Config, reachableHost } from '../config.ts';
import type { Figures } from '../http/health-routes.ts';
import { startServer } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { assembleBackground } from './background.ts';
import { assembleFleet } from './fleet.ts';
import { assembleServing } from './serving.ts';
import { fromSetting, openStores } from './stores.ts';

export type Service = {
  /** Where it can be called, as printed and put into feeds. */
  readonly address: string;
  readonly port: number;
  /** Takes no new connections any more; those that are open are still served. */
  close(): void;
  /** Stops accepting, finishes what is in flight, closes the stores. */
  stop(): Promise<void>;
};

export type ServiceOptions = {
  readonly metrics: Metrics;
  /** What `/metrics` answers. */
  readonly figures: Figures;
  /** Whether the background work is done here as well, and not by a process of its own. */
  readonly hasBackground: boolean;
  /** Of several serving processes, which one this is and the port they share; undefined: the only one. */
  readonly worker?: { readonly number: number; readonly port: number } | undefined;
};

const IN_FLIGHT_WAIT_MS_MAX = 7000;

/** Starts everything; rejects when the port is taken, the data directory is in use, or the schema unknown. */
export async function composeService(
  config: Config,
  log: Log,
  { metrics, figures, hasBackground, worker }: ServiceOptions,
): Promise<Service> {
  const stores = await openStores(config, log);
  const fleet = assembleFleet(stores, metrics, log);
  let address = config.publicUrl ?? '';
  const serving = assembleServing({
    ...{ config, log, metrics, stores, fleet, figures },
    address: () => address,
    worker: worker?.number,
  });
  const background = hasBackground
    ? assembleBackground(config, log, metrics, stores, fleet.labels)
    : undefined;
  // Before the first request: what is announced while a channel loads must be heard.
  serving.refresher.start(stores.engine);
  const server = await fromSetting('HOST, PORT', () =>
    startServer({
      host: config.host,
      port: worker?.port ?? config.port,
      isPortShared: worker !== undefined,
      ...serving.handlers,
    }),
  );
  address = config.publicUrl ?? `http://${reachableHost(config.host)}:${server.port}`;
  fleet.start();
  serving.keyUses.start();
  background?.start();
  const close = (): void => {
    serving.readiness.drain();
    server.stopAccepting();
  };
  return {
    address,
    port: server.port,
    close,
    async stop() {
      close();
      await serving.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      await serving.refresher.stop();
      // What is held goes to the engine first, so that the drain may find it there.
      await fleet.stop();
      await background?.stop();
      fleet.labels.stop();
      await serving.keyUses.stop();
      await serving.lastGood.flush();
      await stores.engine.close();
      await stores.ledger.close();
    },
  };
}
