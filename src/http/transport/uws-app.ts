// HTTP server of uWebSockets.js: the only file that imports the package.

import type * as UwsPackage from 'uWebSockets.js';
import type { HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { askForWebSocket } from './handshake.ts';
import type { HttpApp, Listening, ListenOptions } from './http-app.ts';
import { findPortFault } from './port-fault.ts';

type Package = typeof UwsPackage;

/**
 * Maximum bytes of a request's head; uWebSockets.js reads this setting once, when it is loaded. With its
 * default of 4 KiB it would answer a long path itself, with a bare 431; with 64 KiB the service answers, and
 * the memory of a connection is still bounded.
 */
const HEADER_BYTES_MAX = '65536';

/** Maximum number of attempts of a process to connect to itself at its start: a busy machine may be slow. */
const LENDING_ATTEMPTS_MAX = 3;

/** Loads the package; resolves with the function that opens an application. Rejects if loading fails. */
export async function loadUws(): Promise<() => HttpApp> {
  // biome-ignore lint/style/noProcessEnv: uWebSockets.js takes its header limit from there only.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = HEADER_BYTES_MAX;
  const uws = await import('uWebSockets.js');
  for (let attempt = 1; ; attempt++) {
    try {
      await lendBufferedAmount(uws);
      return () => openApp(uws);
    } catch (error) {
      if (attempt === LENDING_ATTEMPTS_MAX) throw error;
    }
  }
}

function openApp(uws: Package): HttpApp {
  const app = uws.App();
  const listenWithOptions = app.listen.bind(app) as unknown as ListenWithOptions;
  return {
    get: (pattern, handler) => app.get(pattern, handler),
    head: (pattern, handler) => app.head(pattern, handler),
    any: (pattern, handler) => app.any(pattern, handler),
    filter: (listener) => app.filter(listener),
    // uWebSockets.js does not report such errors.
    onAcceptFault: () => undefined,
    listen: (options) => listen(uws, listenWithOptions, options),
    close: () => app.close(),
  };
}

/** LIBUS_LISTEN_DEFAULT: sets SO_REUSEPORT, so that the kernel distributes connections to the processes. */
const SHARED_PORT = 0;
/**
 * LIBUS_LISTEN_EXCLUSIVE_PORT: listening fails if the port is in use. Otherwise a second service on the same
 * port would silently get half of the connections.
 */
const EXCLUSIVE_PORT = 1;

/** Signature of `listen` with host and options, which the package's types lack. */
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => unknown;

function listen(
  uws: Package,
  listenWithOptions: ListenWithOptions,
  { host, port, isPortShared }: ListenOptions,
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    listenWithOptions(host, port, isPortShared ? SHARED_PORT : EXCLUSIVE_PORT, (socket) => {
      if (!socket) {
        void findPortFault(host, port).then((reason) => reject(new Error(reason)));
        return;
      }
      resolve({
        port: uws.us_socket_local_port(socket),
        stop: () => uws.us_listen_socket_close(socket),
      });
    });
  });
}

// Number of unsent bytes of a connection. In the package only WebSockets have a method for it. Of a response,
// only `tryEnd` and `write` reveal it, but they add a length or an encoding, which a 204 must not have. Both
// kinds of object wrap the same kind of socket, and the method reads nothing else. So this process opens one
// WebSocket to itself, for a moment, and copies its method to responses. This works with the exact version of
// the package that `package.json` names; test/http/unread-answers.test.ts verifies it.

/** Gives all responses `getBufferedAmount`. Rejects if this process cannot connect to itself. */
function lendBufferedAmount(uws: Package): Promise<void> {
  return new Promise((resolve, reject) => {
    const app = uws.App();
    let hangUp = (): void => undefined;
    let responses: HttpResponse | undefined;
    let isOver = false;
    const end = (reason?: string): void => {
      if (isOver) return;
      isOver = true;
      hangUp();
      // Later, because the application must not be closed within one of its callbacks.
      setImmediate(() => app.close());
      if (reason === undefined) resolve();
      else reject(new Error(`cannot connect to itself: ${reason}`));
    };
    app.ws('/*', {
      upgrade: (res, req, context) => {
        responses = Object.getPrototypeOf(res);
        res.upgrade({}, req.getHeader('sec-websocket-key'), '', '', context);
      },
      open: (webSocket) => {
        Object.assign(responses ?? {}, { getBufferedAmount: webSocket.getBufferedAmount });
        end();
      },
    });
    app.listen('127.0.0.1', 0, (listening) => {
      if (!listening) return end('it cannot listen on 127.0.0.1');
      hangUp = askForWebSocket(uws.us_socket_local_port(listening), end);
    });
  });
}
