// Loopback TCP proxy that stands for the network between two processes, and fails as networks do.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type NetworkProxy = {
  readonly port: number;
  /**
   * Forwards nothing in either direction, with every connection left open (also those made meanwhile).
   * The bytes are held, as TCP would retransmit them, until `heal`.
   */
  blackhole(): void;
  /**
   * Drops whatever the server says on a connection on which the client has sent a chunk for which this is
   * true, from that chunk on: the answers are lost, the requests arrive.
   */
  silenceAfter(predicate: (chunkFromClient: Buffer) => boolean): void;
  /** Ends `blackhole`, `dropWhen` and `silenceAfter`: held bytes are forwarded in their order. */
  heal(): void;
  /** Destroys every connection, on both sides; new ones are accepted. */
  cut(): void;
  /** Connects to another port from now on, as an address that moves to another server; cuts what is open. */
  moveTo(targetPort: number): void;
  /** Delays what is forwarded from now on, in each direction, so that a round trip takes twice as long. */
  delay(ms: number): void;
  /** Drops, for good, every chunk from the server for which this is true: a lost answer. */
  dropWhen(predicate: (chunkFromServer: Buffer) => boolean): void;
  close(): Promise<void>;
};

/** Starts a proxy on a free port in front of a loopback port. */
export async function startProxy(targetPort: number): Promise<NetworkProxy> {
  let target = targetPort;
  const sockets = new Set<Socket>();
  let isBlackhole = false;
  let isDropped: (chunk: Buffer) => boolean = () => false;
  let isSilencing: (chunk: Buffer) => boolean = () => false;
  /** Sockets to clients that hear nothing any more. */
  const silenced = new Set<Socket>();
  let held: (() => void)[] = [];
  let delayMs = 0;
  const delayed: { readonly dueAt: number; readonly action: () => void }[] = [];

  function pass(action: () => void): void {
    if (delayMs === 0 && delayed.length === 0) return forwardNow(action);
    delayed.push({ dueAt: performance.now() + delayMs, action });
    if (delayed.length === 1) forwardDue();
  }

  /** Forwards what is due, in its order, and comes back for the rest. */
  function forwardDue(): void {
    for (let next = delayed[0]; next !== undefined; next = delayed[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) return void setTimeout(forwardDue, waitMs);
      delayed.shift();
      forwardNow(next.action);
    }
  }

  function forwardNow(action: () => void): void {
    if (isBlackhole) held.push(action);
    else action();
  }

  function forward(from: Socket, to: Socket, isFromServer: boolean): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      if (isFromServer && (isDropped(chunk) || silenced.has(to))) return;
      if (!isFromServer && isSilencing(chunk)) silenced.add(from);
      pass(() => void to.write(chunk));
    });
    from.on('end', () => pass(() => void to.end()));
    from.on('error', () => pass(() => void to.destroy()));
    from.on('close', () => {
      sockets.delete(from);
      silenced.delete(from);
      pass(() => void to.destroySoon());
    });
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    forward(client, upstream, false);
    forward(upstream, client, true);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function cut(): void {
    held = [];
    for (const socket of sockets) socket.destroy();
  }

  return {
    port: (server.address() as AddressInfo).port,
    blackhole() {
      isBlackhole = true;
    },
    heal() {
      isBlackhole = false;
      isDropped = () => false;
      isSilencing = () => false;
      silenced.clear();
      const released = held;
      held = [];
      for (const action of released) action();
    },
    cut,
    moveTo(port) {
      target = port;
      cut();
    },
    delay(ms) {
      delayMs = ms;
    },
    dropWhen(predicate) {
      isDropped = predicate;
    },
    silenceAfter(predicate) {
      isSilencing = predicate;
    },
    async close() {
      server.close();
      isBlackhole = false;
      delayMs = 0;
      cut();
      if (server.listening) await once(server, 'close');
    },
  };
}
