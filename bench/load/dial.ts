// Opens a connection, reads its answers, and tells what comes and what goes wrong.

import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { MalformedResponse, ResponseReader, type ResponseShapes } from './response-reader.ts';

type Address = {
  readonly host: string;
  readonly port: number;
  readonly localAddress?: string | undefined;
  readonly isTls?: boolean;
  /** Certificates that are trusted, and the name in the server's, where they are not the usual ones. */
  readonly secureContext?: SecureContext | undefined;
  readonly serverName?: string;
};

export type Listener = {
  onChunk?(chunk: Buffer, length: number): void;
  onAnswer(status: number): void;
  onTaken?(): void;
  onError(kind: string): void;
};

export type Dialled = ReturnType<typeof dial>;

/** Begins to connect. Memory may be shared: each chunk is looked at before the next one is read. */
export function dial(
  address: Address,
  memory: { readonly shapes: ResponseShapes; readonly readBuffer: Buffer },
  listener: Listener,
) {
  const reader = new ResponseReader(memory.shapes, (status) => listener.onAnswer(status));
  const socket = open(address, memory.readBuffer, (length, bytes) => {
    const chunk = bytes as Buffer;
    listener.onChunk?.(chunk, length);
    try {
      reader.take(chunk, length);
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      listener.onError(`malformed answer: ${error.message}`);
      socket.destroy();
      return false;
    }
    listener.onTaken?.();
    return true;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    listener.onError(error.code ?? error.message);
  });
  const readyEvent = address.isTls === true ? 'secureConnect' : 'connect';
  return { socket, reader, readyEvent };
}

function open(
  { host, port, isTls, localAddress, serverName, secureContext }: Address,
  buffer: Buffer,
  callback: (length: number, chunk: Uint8Array) => boolean,
): Socket {
  if (isTls !== true) {
    const onread = { buffer, callback };
    return connect({ host, port, noDelay: true, localAddress, onread });
  }
  const servername = serverName ?? (isIP(host) === 0 ? host : '');
  const socket = connectTls({ host, port, servername, secureContext });
  socket.setNoDelay(true);
  return socket.on('data', (chunk: Buffer) => void callback(chunk.length, chunk));
}
