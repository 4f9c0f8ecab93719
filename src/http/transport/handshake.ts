// Client that opens one WebSocket to this process, because the HTTP server has a method only on WebSockets.

import { connect } from 'node:net';

const HANDSHAKE = [
  ...['GET / HTTP/1.1', 'Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket'],
  ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''],
].join('\r\n');
const ANSWER_MS = 5000;

/**
 * Requests a WebSocket at a port of this machine. Calls `onFault` if the connection fails, or no answer comes
 * within 5 s. Returns a function that ends the connection, after which `onFault` is not called.
 */
export function askForWebSocket(port: number, onFault: (reason: string) => void): () => void {
  const socket = connect(port, '127.0.0.1', () => socket.write(HANDSHAKE));
  socket.setTimeout(ANSWER_MS, () => onFault('no answer on 127.0.0.1'));
  socket.on('error', ({ message }) => onFault(message));
  return () => socket.destroy();
}
