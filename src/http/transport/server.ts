// Listening socket of the service: what devices ask goes to its handlers, all else to the router.

import type { LabelledCount } from '../../observe/labelled-count.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { HttpEngine } from './engine.ts';
import type { HttpApp, HttpResponse, ListenOptions, RequestHandler } from './http-app.ts';

export type ServerOptions = ListenOptions & {
  readonly engine: HttpEngine;
  /** Bound on the open connections; undefined for none. */
  readonly connectionLimit?: ConnectionLimit;
  /** Handlers that serve GET and HEAD below a first path segment, such as `/u`, without the router. */
  readonly direct: Readonly<Record<string, { get: RequestHandler; head: RequestHandler }>>;
  /** Serves all other requests. */
  readonly router: RequestHandler;
};

export type Server = {
  /** Port that the server listens on; the chosen one if port 0 was requested. */
  readonly port: number;
  /** Stops accepting connections; open connections stay. */
  stopAccepting(): void;
  /** Closes every connection. */
  close(): void;
};

/** Starts listening; rejects if the address is in use or cannot be used. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const app = options.engine.openApp();
  options.connectionLimit?.applyTo(app);
  for (const [prefix, { get, head }] of Object.entries(options.direct)) {
    app.get(`${prefix}/*`, get);
    app.head(`${prefix}/*`, head);
  }
  app.any('/*', options.router);
  const listening = await app.listen(options);
  let isAccepting = true;
  return {
    port: listening.port,
    stopAccepting() {
      if (isAccepting) listening.stop();
      isAccepting = false;
    },
    close() {
      isAccepting = false;
      app.close();
    },
  };
}

// Bound on the open connections of clients. Without it they could use up the file descriptors of the process,
// so that it could not reconnect to its stores.

type ConnectionLimitDependencies = {
  /** Maximum number of open connections; undefined for no bound. */
  readonly connectionsMax: number | undefined;
  readonly connections: LabelledCount<'accepted' | 'refused'>;
  readonly log: RareLog;
};

/** Counts the open connections of clients, and refuses those beyond a bound. */
export class ConnectionLimit {
  private count = 0;

  constructor(private readonly dependencies: ConnectionLimitDependencies) {}

  /** Number of open connections. */
  get open(): number {
    return this.count;
  }

  /**
   * Closes each connection of the app that would exceed the bound, before anything is read from it. Logs
   * connections that the operating system did not let the app accept.
   */
  applyTo(app: Pick<HttpApp, 'filter' | 'onAcceptFault'>): void {
    const { connectionsMax = Number.POSITIVE_INFINITY, connections, log } = this.dependencies;
    // Called with 1 when a connection opens and with -1 when it closes, for refused ones too.
    const note = (connection: Pick<HttpResponse, 'close'>, change: number): void => {
      this.count += change;
      if (change < 0) return;
      if (this.count <= connectionsMax) {
        connections.add('accepted');
        return;
      }
      connections.add('refused');
      log.warn({ open: connectionsMax }, 'connection refused');
      connection.close();
    };
    app.filter(note);
    app.onAcceptFault(({ message }) => log.warn({ reason: message }, 'connection not accepted'));
  }
}
