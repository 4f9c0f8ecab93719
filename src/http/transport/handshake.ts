// Client of one WebSocket of this process, for what the HTTP server tells of WebSockets only.

import { connect } from 'node:net';

const HANDSHAKE = [
  ...['GET / HTTP/1.1', 'Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket'],
  ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''],
].join('\r\n');
const ANSWER_MS = 5000;

/**
 * Asks for a WebSocket at a port of this machine. Tells the fault when there is none, or no answer within
 * 5 s. Returns the function that ends the connection, after which nothing is told.
 */
export function askForWebSocket(port: number, onFault: (reason: string) => void): () => void {
  const socket = connect(port, '127.0.0.1', () => socket.write(HANDSHAKE));
  socket.setTimeout(ANSWER_MS, () => onFault('no answer on 127.0.0.1'));
  socket.on('error', ({ message }) => onFault(message));
  return () => socket.destroy();
}
