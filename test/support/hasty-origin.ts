// Proxy between a cache and a node that divides the times in which a cache may keep an answer, so that a
// test need not wait for eleven minutes. It counts the requests that the cache makes, and can go away.

import { Agent, createServer, request } from 'node:http';
import { listening } from './loopback-server.ts';

export type HastyOrigin = Awaited<ReturnType<typeof startHastyOrigin>>;

/** Starts a proxy in front of a node; all times in `Cache-Control` are divided by `divisor`. */
export async function startHastyOrigin(nodeUrl: string, divisor: number) {
  const { hostname, port } = new URL(nodeUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 5000 });
  let count = 0;
  const server = createServer((asked, answer) => {
    count += 1;
    const { method, url, headers } = asked;
    const onward = request({ agent, hostname, port, method, path: url, headers }, (reply) => {
      const control = reply.headers['cache-control'];
      const divided = control?.replace(/=(\d+)/g, (_, seconds) => `=${Number(seconds) / divisor}`);
      answer.writeHead(reply.statusCode ?? 502, { ...reply.headers, 'cache-control': divided });
      reply.pipe(answer);
    });
    onward.on('error', () => answer.writeHead(502).end());
    onward.end();
  });
  let running = await listening(server);
  const { port: own } = running;
  return {
    /** `host:port` of the proxy, which stays when it goes away and returns. */
    address: `127.0.0.1:${own}`,
    /** Number of requests so far. */
    requests: () => count,
    /** Refuses connections from now on, and ends those that are open. */
    goAway: () => running.close(),
    async comeBack() {
      running = await listening(server, own);
    },
    async stop() {
      agent.destroy();
      if (server.listening) await running.close();
    },
  };
}
