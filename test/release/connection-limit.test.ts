// Tests that clients cannot use up the file descriptors that a node needs for its stores
// (docs/operating/limits.md).

import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/http-ask.ts';
import { figureIn, overProcesses } from '../support/metrics.ts';
import { startNode } from '../support/node.ts';
import { createTenant } from '../support/tenant.ts';

/** File descriptors that the node may have open, and connections that clients try to open. */
const DESCRIPTORS = 256;
const CONNECTIONS = 400;
/** Milliseconds between requests on a connection: a quiet one would be closed after 10 s. */
const REQUEST_INTERVAL_MS = 2000;
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: sluice\r\n\r\n';

describeOnRealStores('file descriptors', () => {
  it('that clients hold are never those of the stores: under a crowd, a node finds Redis and PostgreSQL again', async () => {
    const cluster = await startCluster();
    const crowd = new Crowd();
    const own = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const stores = { DATABASE_URL: cluster.databaseUrl, REDIS_URL: cluster.redis.url };
      const node = await startNode(stores, undefined, DESCRIPTORS);
      try {
        const tenant = await createTenant(node, ['1.0.0']);
        await tenant.check('0.9.0');
        const metrics = async () =>
          overProcesses((await ask(`${node.url}/metrics`, { agent: own })).text);
        const are = async (state: 0 | 1) => {
          const text = await metrics();
          return ['engine', 'ledger'].every((store) =>
            text.includes(`{store="${store}"} ${state}`),
          );
        };
        await eventually('both stores are there', () => are(1));
        await crowd.open(Number(new URL(node.url).port), CONNECTIONS);
        await eventually('all are answered or refused', () => crowd.settled === CONNECTIONS);
        const { held } = crowd;
        await Promise.all([cluster.redis.kill(), cluster.postgres.kill()]);
        await eventually('both stores are lost', () => are(0));
        await Promise.all([cluster.redis.restart(), cluster.postgres.restart()]);
        const began = performance.now();
        await eventually('both stores are there again', () => are(1));
        const time = performance.now() - began;
        const refused = figureIn(await metrics(), 'sluice_connections_total{outcome="refused"}');
        console.log(
          `connection limit: ${DESCRIPTORS} descriptors, ${CONNECTIONS} clients: ${held} served,` +
            ` ${refused} refused; Redis and PostgreSQL found again after ${Math.round(time)} ms`,
        );
        expect(held).toBeGreaterThan(DESCRIPTORS / 4);
        expect(refused).toBeGreaterThan(0);
        crowd.close();
        await eventually('others are served again', async () => {
          const answer = await tenant.check('0.9.0').catch(() => undefined);
          return answer?.status === 200;
        });
      } finally {
        await node.dispose();
      }
    } finally {
      crowd.close();
      own.destroy();
      await cluster.dispose();
    }
  });
});

/** Clients that each hold a connection, and ask over it now and then. */
class Crowd {
  private readonly sockets = new Set<Socket>();
  private readonly answered = new Set<Socket>();
  private refused = 0;
  private timer: NodeJS.Timeout | undefined;

  /** Number of clients that have an answer or were refused. */
  get settled(): number {
    return this.answered.size + this.refused;
  }

  /** Number of clients that had an answer and still hold their connection. */
  get held(): number {
    return this.answered.size;
  }

  async open(port: number, count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const socket = connect(port, '127.0.0.1');
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => this.answered.add(socket));
      socket.once('close', () => {
        if (!this.answered.delete(socket)) this.refused += 1;
        this.sockets.delete(socket);
      });
      socket.write(REQUEST);
      socket.resume();
    }
    this.timer = setInterval(() => {
      for (const socket of this.sockets) socket.write(REQUEST);
    }, REQUEST_INTERVAL_MS);
  }

  close(): void {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
  }
}
