// Finds a port that nothing listens on. Another process may take it before it is used, so callers that start
// a server on it must try again with another port.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A loopback TCP port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const ATTEMPTS = 5;

/** Starts a server on a free port, and on another one when a program has taken that meanwhile. */
export async function onFreePort<Server>(start: (port: number) => Promise<Server>) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { port, server: await start(port) };
    } catch (error) {
      const isTaken = /Address already in use|another program has it/.test(String(error));
      if (!isTaken || attempt === ATTEMPTS) throw error;
    }
  }
}
