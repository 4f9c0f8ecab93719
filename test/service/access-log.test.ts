// Tests the access log (docs/operating/settings.md): a line for each request on every surface, without what
// is secret. That there is none unless it is asked for is in settings.test.ts.

import { expect, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { suiteTenant } from '../support/service-suite.ts';
import { send } from '../support/tenant.ts';

type Line = Record<string, unknown>;

describeOnBackends('the access log', (backend) => {
  const node = suiteNode(() =>
    backend.start({ ACCESS_LOG: 'on', SECRET_KEY: 'a key of the tests' }),
  );
  const tenant = suiteTenant(node);

  /** Makes a request and returns the lines that it adds for a path. */
  async function linesOf(path: string, make: () => Promise<unknown>): Promise<Line[]> {
    const lines = () =>
      logLines(node.output()).filter((line) => line.msg === 'request' && line.path === path);
    const before = lines().length;
    await make();
    await eventually('there is a line', () => lines().length > before);
    return lines().slice(before);
  }

  it('has a line for a management call, with its id, its app and its client', async () => {
    const body = { app: tenant.app, channel: 'stable', version: 'latest' };
    const authorization = `Bearer ${tenant.secret}`;
    const headers = { authorization, 'x-request-id': 'run-1', 'x-forwarded-for': '192.0.2.7' };
    const path = '/api/v1/releases';
    const lines = await linesOf(path, () =>
      send(node, 'POST', `${path}?token=s3cret`, { body, headers }),
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

  it('has a line for what devices and code hosts ask, for health, and for what nobody serves', async () => {
    expect(await linesOf('/api/v1/releases', () => tenant.publish('1.0.0'))).toHaveLength(1);
    const hook = await enableWebhook(node, tenant);
    const route = '/u/:appRef/:channel/:platform/:arch/:version';
    const { app } = tenant;
    const check = (version: string) => `/u/${app}/stable/linux/x86_64/${version}`;
    // A check that waits, one that does not, one without an offer, and one that is refused.
    for (const [method, path, line] of [
      ['GET', check('0.1'), { route, status: 200, app }],
      ['GET', check('0.1'), { route, status: 200, app }],
      ['GET', check('1.0.0'), { route, status: 204, app }],
      ['HEAD', check('1').replace(app, 'nobody'), { route, status: 404, app: 'nobody' }],
      ['GET', '/healthz', { route: '/healthz', status: 200 }],
      ['GET', '/nothing', { route: 'none', status: 404 }],
    ] as const) {
      const lines = await linesOf(path, () => send(node, method, `${path}?l.a=s3cret`));
      expect(lines).toMatchObject([{ method, path, ...line }]);
    }
    const delivery = await linesOf(hook.path, () => deliver(node, hook, releaseEvent('v2.0.0')));
    expect(delivery).toMatchObject([{ route: '/wh/github/:app', status: 200 }]);
    expect(node.output()).not.toContain('s3cret');
  });
});
