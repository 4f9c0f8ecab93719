// A server that speaks HTTP as it should not be: by bytes on raw connections, for tests of what calls others.
// No answer of it is right, and most never end.

import { createServer, type Socket } from 'node:net';
import { listening } from './loopback-server.ts';

export type Wildness = keyof typeof WILD;

const BODY_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n';
/** First half of a TLS record with a ServerHello, which never goes on. */
const HALF_A_HELLO = Buffer.from('160303007a0200007603030102', 'hex');
const FLOOD = Buffer.alloc(64 * 1024, ' ');

/** What the server does with a connection once it got the first bytes of a request. */
const WILD = {
  '101 Switching Protocols': (socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  },
  '101 without an upgrade': (socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  },
  '100 without end': (socket: Socket) => repeat(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
  '103 without end': (socket: Socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  'a close before the head': (socket: Socket) => socket.end(),
  'a reset before the head': (socket: Socket) => socket.resetAndDestroy(),
  'a close in the head': (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'),
  'a close after the head': (socket: Socket) => socket.end(BODY_HEAD),
  'half a body': (socket: Socket) => socket.end(`${BODY_HEAD}{`),
  'half a chunk': (socket: Socket) => {
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{');
  },
  'a head byte by byte': (socket: Socket) => repeat(socket, 'H', 20),
  'a body byte by byte': (socket: Socket) => {
    socket.write(BODY_HEAD);
    repeat(socket, ' ', 20);
  },
  'a body without end': (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n');
    repeat(socket, FLOOD);
  },
  'half a head': (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\n'),
  'half of TLS': (socket: Socket) => socket.write(HALF_A_HELLO),
  nothing: () => undefined,
} as const;

export const WILDNESSES = Object.keys(WILD) as readonly Wildness[];

/** Writes again and again, as fast as the other side reads or at an interval, until the connection ends. */
function repeat(socket: Socket, bytes: string | Buffer, everyMs = 0): void {
  const timer = setInterval(() => {
    if (!socket.writableNeedDrain) socket.write(bytes);
  }, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Starts the server on a free port, or a given one; what `wildness` returns counts for each connection. */
export async function startWildServer(wildness: () => Wildness, port = 0) {
  let asked = 0;
  const server = createServer((socket) => {
    socket.once('data', () => {
      asked += 1;
      WILD[wildness()](socket);
    });
    socket.resume();
  });
  const running = await listening(server, port);
  return {
    port: running.port,
    /** Number of requests that came. */
    get asked() {
      return asked;
    },
    /** Number of connections that are open. */
    get open() {
      return running.open();
    },
    /** Ends the server and its connections. */
    stop: running.close,
  };
}
