// Makes sure, before several processes listen on one port, that nobody else has it: shared as it is among
// them, a second service would get half of the traffic and nobody would notice.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * The port, or for 0 one that is free. Rejects when it is in use or not of this machine. It is held only
 * while this looks: from then on the first process that listens keeps others from sharing it unasked.
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
