// Tests that answers of every kind say how long their connection may be idle (docs/operating/health.md). For
// how long one is kept is measured in test/timed; what becomes of a client that does not read, and of one
// that asks before it has its answers, is tested in test/http/unread-answers.test.ts.

import { type IncomingHttpHeaders, request } from 'node:http';
import { expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../support/node.ts';
import { sharedNode } from '../support/service-suite.ts';
import { createTenant } from '../support/tenant.ts';

const node = sharedNode();

type Reply = { readonly status: number | undefined; readonly headers: IncomingHttpHeaders };

function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(node.url + path, { agent: false, ...options }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

it('a connection is announced to be kept, in every kind of answer', async () => {
  const tenant = await createTenant(node, ['1.1.0']);
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
  const expected = [200, 200, 204, 304, 400, 401, 404, 405, 200, 200, 200];
  expect(answers.map(({ status, headers }) => [status, headers['keep-alive']])).toEqual(
    expected.map((status) => [status, 'timeout=8']),
  );
});
