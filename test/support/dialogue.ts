// Client that speaks HTTP byte by byte and keeps its connection, for the tests of the HTTP engines.

import { connect, type Socket } from 'node:net';

/** Client of one connection, with the statuses that it was answered. */
export class Dialogue {
  readonly socket: Socket;
  isClosed = false;
  /** All that was answered, one character per byte. */
  text = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}
