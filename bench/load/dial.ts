// Opens a connection for the load generator. Plain connections read into memory that is allocated beforehand.

import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';

/** Memory to read into, and the function that looks at each chunk at once. */
export type Read = {
  readonly buffer: Buffer;
  readonly callback: (length: number, chunk: Buffer) => boolean;
};

/** Socket, and the event that says that it may be written to. */
export type Dialled = { readonly socket: Socket; readonly readyEvent: 'connect' | 'secureConnect' };

type Address = { readonly host: string; readonly port: number; readonly isTls?: boolean };

/** Certificates that are trusted; those of the system when absent. */
type Trust = { readonly secureContext?: SecureContext | undefined };

/** Begins to connect. */
export function dial({ host, port, isTls }: Address, read: Read, trust: Trust = {}): Dialled {
  if (isTls !== true) {
    const onread = {
      buffer: read.buffer,
      callback: (length: number, chunk: Uint8Array) => read.callback(length, chunk as Buffer),
    };
    return { socket: connect({ host, port, noDelay: true, onread }), readyEvent: 'connect' };
  }
  const socket = connectTls({ host, port, servername: isIP(host) === 0 ? host : '', ...trust });
  socket.setNoDelay(true);
  socket.on('data', (chunk: Buffer) => void read.callback(chunk.length, chunk));
  return { socket, readyEvent: 'secureConnect' };
}
