// Check that a port is free, before several processes of the service share it. Without the check, a second
// service that shares the port would silently get half of the traffic.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Returns the port, or a free one for 0. Rejects when the port is in use or the host is no address of this
 * machine. The port is held only during the check; afterwards, the first process that listens on it keeps
 * other services from it.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    const reason = `cannot listen on ${host}:${port}, which is in use or not of this machine`;
    throw new Error(reason, { cause: error });
  }
  const claimed = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return claimed;
}
