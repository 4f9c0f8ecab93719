// Server for tests of what asks a server many times: any answers, on a port of its own.

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export type LoopbackServer = {
  readonly port: number;
  /** Number of connections that were opened so far. */
  readonly opened: () => number;
  /** Ends the server with all its connections. */
  readonly close: () => void;
};

/** Starts a server on a free port of the loopback interface. */
export async function loopbackServer(listener: RequestListener): Promise<LoopbackServer> {
  let connections = 0;
  const server = createServer(listener).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    opened: () => connections,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
