// The listening socket: devices' questions on routes of their own, everything else through the router.

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void;

export type ServerOptions = {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this service listen on the port as well. */
  readonly isPortShared: boolean;
  /** What serves GET and HEAD below a path's first segment, such as `/u`, past the router. */
  readonly direct: Readonly<Record<string, { get: RequestHandler; head: RequestHandler }>>;
  /** Serves everything else. */
  readonly router: RequestHandler;
};

export type Server = {
  /** The port it really listens on. */
  readonly port: number;
  /** Stops accepting connections; those that are open stay. */
  stopAccepting(): void;
  /** Closes every connection. */
  close(): void;
};

/**
 * uWebSockets.js reads this once, when it is loaded. Its default of 4 KiB would answer a long path with a
 * bare 431 of its own; with 64 KiB the service gets to answer, and a connection still has a bound.
 */
const HEADER_BYTES_MAX = '65536';

/** Listens, or rejects when the address is taken or cannot be used. */
export async function startServer(options: ServerOptions): Promise<Server> {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = HEADER_BYTES_MAX;
  const uws = await import('uWebSockets.js');
  const app = uws.App();
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

/** LIBUS_LISTEN_DEFAULT: with SO_REUSEPORT, by which the kernel spreads connections over the processes. */
const SHARED_PORT = 0;
/** LIBUS_LISTEN_EXCLUSIVE_PORT: a second service on the port would silently take half of the traffic. */
const EXCLUSIVE_PORT = 1;

/** The form of `listen` with host and options, which the package's types leave out. */
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
      else
        reject(
          new Error(`cannot listen on ${host}:${port}, which is in use or not of this machine`),
        );
    });
  });
}
