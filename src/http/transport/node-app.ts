// HTTP server of Node itself, for machines on which uWebSockets.js does not load. It has the same timeouts
// and bounds, and a connection may likewise send its next request only after its answer.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { type ListenOptions as NetListenOptions, Server as NetServer, type Socket } from 'node:net';
import { fail, invalidField } from '../../contract/failure.ts';
import type {
  HttpApp,
  HttpResponse,
  Listening,
  ListenOptions,
  RequestHandler,
} from './http-app.ts';
import { NodeConnection, NodeRequest, NodeResponse } from './node-exchange.ts';
import { portFault } from './port-fault.ts';
import { failureReply, jsonReply, type Reply, replyHead } from './reply.ts';

export type NodeTimes = {
  /** Time after which a connection without a request is closed, or one whose client reads nothing. */
  readonly idleMs: number;
  /** Time for the head of a request. */
  readonly headMs: number;
  /** Time for a whole request; it also bounds for how long a refused body is read. */
  readonly requestMs: number;
  /** Interval at which `headMs` and `requestMs` are checked. */
  readonly lookMs: number;
};

const TIMES: NodeTimes = { idleMs: 10_000, headMs: 10_000, requestMs: 300_000, lookMs: 1000 };
const HEADER_BYTES_MAX = 64 * 1024;
/** Maximum number of headers of a request, the same as in uWebSockets.js. */
const HEADERS_MAX = 98;

export function openNodeApp(times: NodeTimes = TIMES): HttpApp {
  return new NodeApp(times);
}

class NodeApp implements HttpApp {
  private readonly server: Server;
  private readonly connections = new Map<Socket, NodeConnection>();
  private readonly gets = new Map<string, RequestHandler>();
  private readonly heads = new Map<string, RequestHandler>();
  private rest: RequestHandler = (res) => res.close();
  private noteConnection: Parameters<HttpApp['filter']>[0] = () => undefined;
  private noteAcceptFault: (error: Error) => void = () => undefined;

  constructor({ idleMs, headMs, requestMs, lookMs }: NodeTimes) {
    const options: ServerOptions & { readonly optimizeEmptyRequests: boolean } = {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: lookMs,
      // `server.timeout` closes idle connections as well, without a timer for each request.
      keepAliveTimeout: 0,
      insecureHTTPParser: false,
      // `serve` checks the header itself: Node would read all headers into an object for it.
      requireHostHeader: false,
      // Creates no stream for requests without a body, in versions of Node that have this option.
      optimizeEmptyRequests: true,
    };
    this.server = createServer(options);
    this.server.timeout = idleMs;
    // 0 is no limit: with one, Node silently drops the headers above it. `serve` checks the number.
    this.server.maxHeadersCount = 0;
    this.server.on('connection', (socket) => this.accept(socket));
    this.server.on('request', (message, response) => this.serve(message, response));
    this.server.on('checkExpectation', (message, response) => this.serve(message, response));
    this.server.on('connect', (_, socket) => this.refuseTunnel(socket as Socket));
    this.server.on('timeout', (socket) => this.endIdle(socket));
    this.server.on('clientError', (error, socket) => this.refuse(error, socket as Socket));
  }

  get(pattern: string, handler: RequestHandler): void {
    this.gets.set(stemOf(pattern), handler);
  }

  head(pattern: string, handler: RequestHandler): void {
    this.heads.set(stemOf(pattern), handler);
  }

  /** Serves all other requests: the pattern is `/*`. */
  any(_pattern: string, handler: RequestHandler): void {
    this.rest = handler;
  }

  filter(listener: (connection: Pick<HttpResponse, 'close'>, change: number) => void): void {
    this.noteConnection = listener;
  }

  onAcceptFault(listener: (error: Error) => void): void {
    this.noteAcceptFault = listener;
  }

  async listen({ host, port, isPortShared }: ListenOptions): Promise<Listening> {
    try {
      const bound = await listen(this.server, { host, port, reusePort: isPortShared });
      this.server.on('error', (error) => this.noteAcceptFault(error));
      // The `close` of TCP servers: that of HTTP servers closes idle connections too.
      return { port: bound, stop: () => void NetServer.prototype.close.call(this.server) };
    } catch (error) {
      throw new Error(portFault(host, port, error));
    }
  }

  close(): void {
    this.server.close();
    for (const socket of this.connections.keys()) socket.destroy();
  }

  private accept(socket: Socket): void {
    const connection = new NodeConnection(socket);
    this.connections.set(socket, connection);
    const closing = { close: () => socket.destroy() };
    socket.on('close', () => {
      this.connections.delete(socket);
      this.noteConnection(closing, -1);
      connection.abort();
    });
    this.noteConnection(closing, 1);
  }

  private serve(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.isOver || socket.destroyed) return;
    if (!connection.admits) {
      socket.destroy();
      return;
    }
    if (message.httpVersion !== '1.1') return connection.endWith(refusalText(505, 'Only HTTP/1.1'));
    if (message.rawHeaders.length > 2 * HEADERS_MAX) {
      return connection.endWith(refusalText(431, 'Too many headers'));
    }
    const req = new NodeRequest(message);
    if (!req.hasHeader('host')) return connection.endWith(refusalText(400, 'Needs a Host'));
    const res = new NodeResponse(connection, message, response);
    connection.current = res;
    const direct = this.directHandler(message.method, req.getUrl());
    direct?.(res, req);
    if (direct === undefined || req.isYielded) this.rest(res, req);
  }

  private directHandler(method: string | undefined, path: string): RequestHandler | undefined {
    const handlers = method === 'GET' ? this.gets : method === 'HEAD' ? this.heads : undefined;
    return handlers?.get(path.slice(0, path.indexOf('/', 1) + 1));
  }

  private endIdle(socket: Socket): void {
    const current = this.connections.get(socket)?.current;
    if (current === undefined || socket.writableLength > 0) socket.destroy();
  }

  /** Answers a request that cannot be parsed, and closes its connection. */
  private refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.connections.get(socket);
    const { code = '' } = error;
    // Bytes after the last request of a connection are ignored.
    if (code === 'HPE_CLOSED_CONNECTION' || connection?.isOver) return;
    if (connection === undefined || !code.startsWith('HPE_') || !socket.writable) {
      socket.destroy();
      return;
    }
    // The error is in the body of the open request, which is aborted, or after it.
    if (connection.current?.hasWholeRequest === false) connection.abort();
    connection.endWith(refusalOf(code));
  }

  /** Refuses CONNECT; Node leaves the connection, with its errors, to the listener. */
  private refuseTunnel(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    this.connections.get(socket)?.endWith(textOf(failureReply(fail('methodNotAllowed'))));
  }
}

/** Returns the prefix of the paths that match a pattern: `/u/` for `/u/*`. */
function stemOf(pattern: string): string {
  return pattern.slice(0, -1);
}

type PortOptions = { readonly host: string; readonly port: number; readonly reusePort: boolean };

/** Starts listening; resolves with the port. */
function listen(server: NetServer, options: PortOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const all: NetListenOptions & PortOptions = { ...options, exclusive: true };
    server.listen(all, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : options.port);
    });
  });
}

/** Returns whether several processes can listen on one port, with `reusePort` of Node and the system. */
export async function canSharePort(): Promise<boolean> {
  const servers = [new NetServer(), new NetServer()] as const;
  try {
    const port = await listen(servers[0], { host: '127.0.0.1', port: 0, reusePort: true });
    await listen(servers[1], { host: '127.0.0.1', port, reusePort: true });
    return true;
  } catch {
    return false;
  } finally {
    for (const server of servers) server.close();
  }
}

// Refusals of malformed requests, which reach no route.

const AMBIGUOUS = new Set([
  'HPE_INVALID_CONTENT_LENGTH',
  'HPE_UNEXPECTED_CONTENT_LENGTH',
  'HPE_INVALID_TRANSFER_ENCODING',
]);

function refusalOf(code: string): string {
  if (code === 'HPE_HEADER_OVERFLOW') return refusalText(431, 'Headers over 64 KiB');
  if (!AMBIGUOUS.has(code)) return refusalText(400, 'Malformed request');
  return textOf(failureReply(invalidField('body', 'Its end is ambiguous')));
}

function refusalText(status: number, message: string): string {
  return textOf(jsonReply(status, { error: message }));
}

/** Returns the full text of a reply that is the last of its connection. */
function textOf({ status, contentType = '', body = '' }: Reply): string {
  const head = replyHead(status, [
    ['Content-Type', contentType],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Date', new Date().toUTCString()],
    ['Connection', 'close'],
  ]);
  return `HTTP/1.1 ${head.last}\r\n\r\n${body}`;
}
