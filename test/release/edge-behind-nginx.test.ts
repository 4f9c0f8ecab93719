// Tests what deploy/nginx.conf does with the requests of edges (docs/operating/proxy.md): they find
// a node that is back at once, also after both were away (docs/contract.md 29.6).

import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import type { Front, NodeAddresses } from '../support/compose-front.ts';
import { freePort } from '../support/free-port.ts';
import { findNginx, findOpenssl, startNginxFront } from '../support/nginx-front.ts';

const isMissing = findNginx() === undefined || findOpenssl() === undefined;
const skipped = isMissing ? ' (skipped: no nginx or no openssl on this machine)' : '';
/** Requests by turns: nginx has two nodes to ask. */
const TURNS = 4;

describe.skipIf(isMissing)(`two nodes behind nginx${skipped}`, () => {
  const endings: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  async function start(): Promise<{ front: Front; ports: readonly [number, number] }> {
    const ports = [await freePort(), await freePort()] as const;
    const [first, second] = ports.map((port): NodeAddresses => {
      return { service: `127.0.0.1:${port}`, admin: `127.0.0.1:${port}` };
    });
    if (first === undefined || second === undefined) throw new Error('there are two nodes');
    const front = await startNginxFront([first, second]);
    endings.push(() => front.stop());
    return { front, ports };
  }

  /** Starts what answers every request as a node would: with 200. */
  async function listen(port: number): Promise<Server> {
    const server = createServer((_, answer) => answer.end('{}'));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    endings.push(() => {
      server.close();
      server.closeAllConnections();
    });
    return server;
  }

  it('that were both away: an edge finds the first that is back at once (§29.6)', async () => {
    const { front, ports } = await start();
    for (let turn = 0; turn < TURNS; turn++) {
      expect(await ask(`${front.url}/edge/v1/index`)).toBe(503);
    }
    await listen(ports[1]);
    for (let turn = 0; turn < TURNS; turn++) {
      expect(await ask(`${front.url}/edge/v1/index`)).toBe(200);
    }
  });

  it('of which one is away: neither edges nor devices notice', async () => {
    const { front, ports } = await start();
    await listen(ports[0]);
    for (const path of ['/edge/v1/index', '/u/app/stable/linux/x86_64/1.0.0']) {
      for (let turn = 0; turn < TURNS; turn++) {
        expect([path, await ask(front.url + path)]).toEqual([path, 200]);
      }
    }
  });
});

/** Asks on a connection of its own, whoever has signed the certificate; resolves with the status. */
function ask(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    });
    asked.on('error', reject);
    asked.end();
  });
}
