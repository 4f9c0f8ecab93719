// Tests what deploy/nginx.conf does with the requests of edges (docs/operating/proxy.md): they find
// a node that is back at once, also after both were away (docs/contract.md 29.6).

import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NodeAddresses } from '../support/compose-front.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-ask.ts';
import { findNginx, findOpenssl, startNginxFront } from '../support/nginx-front.ts';
import { own } from '../support/own.ts';

const isMissing = findNginx() === undefined || findOpenssl() === undefined;
const skipped = isMissing ? ' (skipped: no nginx or no openssl on this machine)' : '';
/** Requests by turns: nginx has two nodes to ask. */
const TURNS = 4;

describe.skipIf(isMissing)(`two nodes behind nginx${skipped}`, () => {
  /** Starts what answers every request as a node would: with 200. */
  async function listen(port: number): Promise<void> {
    const server = createServer((_, answer) => answer.end('{}'));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
  }

  it('that were both away: edges find the first that is back at once, and nobody notices the other (§29.6)', async () => {
    const ports = [await freePort(), await freePort()] as const;
    const addressOf = (port: number): NodeAddresses => ({
      ...{ service: `127.0.0.1:${port}`, admin: `127.0.0.1:${port}` },
    });
    const front = own(await startNginxFront([addressOf(ports[0]), addressOf(ports[1])]));
    const expectAll = async (path: string, status: number) => {
      for (let turn = 0; turn < TURNS; turn++) {
        expect([path, (await ask(front.url + path)).status]).toEqual([path, status]);
      }
    };
    await expectAll('/edge/v1/index', 503);
    await listen(ports[1]);
    await expectAll('/edge/v1/index', 200);
    await expectAll('/u/app/stable/linux/x86_64/1.0.0', 200);
  });
});
