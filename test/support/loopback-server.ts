// Server for tests of what asks a server: any answers, on a port of its own.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts a server on a free port of the loopback interface; `close` ends it with all its connections. */
export async function loopbackServer(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, close };
}
