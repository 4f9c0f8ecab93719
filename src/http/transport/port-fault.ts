// Words for a port that the service cannot listen on.

import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns why a port cannot be listened on, in the words that a failed start and the doctor show. */
export function portFault(host: string, port: number, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES') {
    return (
      `cannot listen on ${host}:${port}: this account has no right to it. Choose a port above 1023, or ` +
      'give the program CAP_NET_BIND_SERVICE'
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `cannot listen on ${host}:${port}: ${host} is no address of this machine`;
  }
  if (code === 'EADDRINUSE') {
    return `cannot listen on ${host}:${port}: another program has it. Choose another port`;
  }
  return `cannot listen on ${host}:${port}, which is in use or not of this machine`;
}

/** Returns why a port cannot be listened on, for a server that gives no reason, such as uWebSockets.js. */
export async function findPortFault(host: string, port: number): Promise<string> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    return portFault(host, port, new Error('it was in use a moment ago'));
  } catch (error) {
    return portFault(host, port, error);
  }
}
