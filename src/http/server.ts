// Listening socket of the service: requests of updaters go to handlers of their own, all others to the
// router.

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { LabelledCount } from '../observe/labelled-count.ts';
import type { RareLog } from '../observe/rare-log.ts';
import { findPortFault } from './port-fault.ts';

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void;

export type ServerOptions = {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this service listen on the port as well. */
  readonly isPortShared: boolean;
  /** Bound on the open connections; undefined for none. */
  readonly connectionLimit?: ConnectionLimit;
  /** Handlers that serve GET and HEAD below a first path segment, such as `/u`, without the router. */
  readonly direct: Readonly<Record<string, { get: RequestHandler; head: RequestHandler }>>;
  /** Serves all other requests. */
  readonly router: RequestHandler;
};

export type Server = {
  /** Port that the server listens on, also when it was asked for port 0. */
  readonly port: number;
  /** Stops accepting connections; open connections stay. */
  stopAccepting(): void;
  /** Closes every connection. */
  close(): void;
};

/**
 * Maximum bytes of a request's head, which uWebSockets.js reads once, when it is loaded. With its default of
 * 4 KiB it would answer a long path itself, with a bare 431; with 64 KiB the service answers, and the memory
 * of a connection still has a bound.
 */
const HEADER_BYTES_MAX = '65536';

/** Starts listening; rejects when the address is in use or cannot be used. */
export async function startServer(options: ServerOptions): Promise<Server> {
  // biome-ignore lint/style/noProcessEnv: uWebSockets.js takes its header limit from there only.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = HEADER_BYTES_MAX;
  const uws = await import('uWebSockets.js');
  const app = uws.App();
  options.connectionLimit?.applyTo(app);
  for (const [prefix, { get, head }] of Object.entries(options.direct)) {
    app.get(`${prefix}/*`, get).head(`${prefix}/*`, head);
  }
  app.any('/*', options.router);
  const socket = await listen(app, options);
  let isAccepting = true;
  return {
    port: uws.us_socket_local_port(socket),
    stopAccepting() {
      if (isAccepting) uws.us_listen_socket_close(socket);
      isAccepting = false;
    },
    close() {
      isAccepting = false;
      app.close();
    },
  };
}

/** LIBUS_LISTEN_DEFAULT sets SO_REUSEPORT, by which the kernel spreads connections over the processes. */
const SHARED_PORT = 0;
/**
 * LIBUS_LISTEN_EXCLUSIVE_PORT makes listening fail when the port is in use: otherwise a second service on the
 * port would silently take half of the traffic.
 */
const EXCLUSIVE_PORT = 1;

/** Signature of `listen` with host and options, which the package's types leave out. */
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => TemplatedApp;

function listen(
  app: TemplatedApp,
  { host, port, isPortShared }: ServerOptions,
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listenWithOptions = app.listen.bind(app) as unknown as ListenWithOptions;
    listenWithOptions(host, port, isPortShared ? SHARED_PORT : EXCLUSIVE_PORT, (socket) => {
      if (socket) resolve(socket);
      else void findPortFault(host, port).then((reason) => reject(new Error(reason)));
    });
  });
}

// Bound on the connections that clients have open. Without one they could use up the file descriptors of the
// process, and the stores could not be reached again once their connections broke.

type ConnectionLimitDependencies = {
  /** Maximum number of open connections; undefined for no bound. */
  readonly connectionsMax: number | undefined;
  readonly connections: LabelledCount<'accepted' | 'refused'>;
  readonly log: RareLog;
};

/** Count of the connections that clients have open, and the bound on it. */
export class ConnectionLimit {
  private readonly dependencies: ConnectionLimitDependencies;
  private count = 0;

  constructor(dependencies: ConnectionLimitDependencies) {
    this.dependencies = dependencies;
  }

  /** Number of open connections. */
  get open(): number {
    return this.count;
  }

  /** Closes each connection of the app that would exceed the bound, before anything is read from it. */
  applyTo(app: TemplatedApp): void {
    const { connectionsMax = Number.POSITIVE_INFINITY, connections, log } = this.dependencies;
    // Called with 1 for a connection that opens and with -1 for one that closes, refused ones included.
    const note = (res: HttpResponse, change: number): void => {
      this.count += change;
      if (change < 0) return;
      if (this.count <= connectionsMax) {
        connections.add('accepted');
        return;
      }
      connections.add('refused');
      log.warn({ open: connectionsMax }, 'connection refused');
      res.close();
    };
    app.filter(note);
  }
}
