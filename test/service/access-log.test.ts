// Tests the access log (docs/operating/settings.md): a line for each request on every surface, without what
// is secret. That there is none unless it is asked for is in settings.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import type { ServingNode } from '../support/node.ts';
import { check, createTenant, publish, send, type Tenant } from '../support/tenant.ts';

type Line = Record<string, unknown>;

function requestsIn(node: ServingNode): Line[] {
  return node
    .output()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as Line);
}

describeOnBackends('the access log', (backend) => {
  let node: ServingNode;
  let tenant: Tenant;

  beforeAll(async () => {
    node = await backend.start({ ACCESS_LOG: 'on', SECRET_KEY: 'a key of the tests' });
    tenant = await createTenant(node);
  });
  afterAll(() => node?.dispose());

  /** Makes a request and returns the lines that it adds for a path. */
  async function linesOf(path: string, make: () => Promise<unknown>): Promise<Line[]> {
    const lines = () => requestsIn(node).filter((line) => line.path === path);
    const before = lines().length;
    await make();
    await eventually('there is a line', () => lines().length > before);
    return lines().slice(before);
  }

  it('has a line for a management call, with its id, its app and its client', async () => {
    const body = { app: tenant.app, channel: 'stable', version: 'latest' };
    const headers = {
      authorization: `Bearer ${tenant.secret}`,
      'x-request-id': 'run-1',
      'x-forwarded-for': '192.0.2.7',
    };
    const lines = await linesOf('/api/v1/releases', () =>
      send(node, 'POST', '/api/v1/releases?token=s3cret', { body, headers }),
    );
    expect(lines).toEqual([
      {
        ...{ level: 'info', time: expect.any(String), pid: expect.any(Number), msg: 'request' },
        ...{ method: 'POST', route: '/api/v1/releases', path: '/api/v1/releases', status: 400 },
        ...{ ms: expect.any(Number), client: '192.0.2.7', requestId: 'run-1', app: tenant.app },
      },
    ]);
    expect(node.output()).not.toContain('s3cret');
    expect(node.output()).not.toContain(tenant.secret);
  });

  it('has a line for a check that waits, one that does not, and one that is refused', async () => {
    const published = () => publish(node, tenant, '1.0.0');
    expect(await linesOf('/api/v1/releases', published)).toHaveLength(1);
    const route = '/u/:appRef/:channel/:platform/:arch/:version';
    const path = (version: string) => `/u/${tenant.app}/stable/linux/x86_64/${version}`;
    for (const [version, status] of [
      ['0.1', 200],
      ['0.1', 200],
      ['1.0.0', 204],
    ] as const) {
      const lines = await linesOf(path(version), () =>
        check(node, tenant, version, { query: 'l.a=s3cret' }),
      );
      expect(lines).toMatchObject([
        { method: 'GET', route, path: path(version), status, app: tenant.app },
      ]);
    }
    const unknown = await linesOf('/u/nobody/stable/linux/x86_64/1', () =>
      send(node, 'HEAD', '/u/nobody/stable/linux/x86_64/1'),
    );
    expect(unknown).toMatchObject([{ method: 'HEAD', status: 404, app: 'nobody' }]);
    expect(node.output()).not.toContain('s3cret');
  });

  it('has a line for a delivery, for health, and for what nobody serves', async () => {
    const hook = await enableWebhook(node, tenant);
    const delivery = await linesOf(hook.path, () => deliver(node, hook, releaseEvent('v2.0.0')));
    expect(delivery).toMatchObject([{ route: '/wh/github/:app', status: 200 }]);
    expect(await linesOf('/healthz', () => send(node, 'GET', '/healthz'))).toMatchObject([
      { route: '/healthz', status: 200 },
    ]);
    expect(await linesOf('/nothing', () => send(node, 'GET', '/nothing'))).toMatchObject([
      { route: 'none', path: '/nothing', status: 404 },
    ]);
  });
});
