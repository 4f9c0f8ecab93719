// Tests what answers say of their connection (docs/operating.md, Health): how long it may be idle.

import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { sleep } from '../support/eventually.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { sharedNode } from '../support/service-suite.ts';
import { createTenant, publish } from '../support/tenant.ts';

/** Time for which an idle connection is kept at least, as its answers announce it. */
const IDLE_MS = 8000;
/** Times at which connections become idle: the native server looks at them every 4 s. */
const PHASES_MS = [0, 1000, 2000, 3000];

const node = sharedNode();

type Reply = {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Port of the client's end of the connection, which tells connections apart. */
  readonly localPort: number | undefined;
};

function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; agent?: Agent } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(node.url + path, { agent: false, ...options }, (answer) => {
      const { statusCode: status, headers } = answer;
      const { localPort } = answer.socket;
      answer.resume();
      answer.on('end', () => resolve({ status, headers, localPort }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('a connection', () => {
  it('is announced to be kept, in every kind of answer', async () => {
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.1.0');
    const check = (version: string) => `/u/${tenant.app}/stable/linux/x86_64/${version}`;
    const feed = `/feed/${tenant.app}/stable`;
    const etag = String((await ask(feed)).headers.etag);
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const answers = await Promise.all([
      ask(check('1.0.0')),
      ask(check('1.0.0'), { method: 'HEAD' }),
      ask(check('1.1.0')),
      ask(feed, { headers: { 'if-none-match': etag } }),
      ask(check('x')),
      ask('/api/v1/apps'),
      ask('/nothing'),
      ask('/healthz', { method: 'POST' }),
      ask('/metrics'),
      ask('/console'),
      ask(`/console/api/apps?org=${tenant.org}`, { headers }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      ...[200, 200, 204, 304, 400, 401, 404, 405, 200, 200, 200],
    ]);
    for (const { headers, status } of answers) {
      expect([status, headers['keep-alive']]).toEqual([status, 'timeout=8']);
    }
  });

  it('is kept for as long as it is announced', async () => {
    const sockets = PHASES_MS.map(async (phase) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      await sleep(phase);
      const first = await ask('/healthz', { agent });
      await sleep(IDLE_MS - 100);
      // This agent has no time-out of its own, and so does not heed the announced one.
      const again = await ask('/healthz', { agent });
      agent.destroy();
      return [again.status, again.localPort === first.localPort];
    });
    expect(await Promise.all(sockets)).toEqual(PHASES_MS.map(() => [200, true]));
  });
});
