// Servers for tests of what asks a server: on a port of their own, each with its connections.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Has a server listen on the loopback interface, by default on a free port. */
export async function listening(server: Server, port = 0, host = '127.0.0.1') {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await once(server.listen(port, host), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Returns the number of connections that are open. */
    open: () => sockets.size,
    /** Ends the server and its connections. */
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((end) => server.close(end));
    },
  };
}

/** Starts a server of HTTP. */
export function loopbackServer(listener: RequestListener) {
  return listening(createServer(listener));
}

/**
 * Returns the body of a request or an answer; undefined when the other side goes away before its end, as
 * nodes do that a test kills: a listener that rejects then would end the run.
 */
export async function bodyOf(message: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat(await message.toArray());
  } catch (error) {
    if (message.errored === error) return undefined;
    throw error;
  }
}
