// Tests that answers of every kind say how long their connection may be idle (docs/operating/health.md),
// and that a client that reads may ask before it has its answer. What becomes of one that does not read,
// and for how long an idle connection is kept, is measured in test/timed.

import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../support/node.ts';
import { tenantWith } from '../support/released.ts';
import { sharedNode } from '../support/service-suite.ts';

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
  const tenant = await tenantWith(node, ['1.1.0']);
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

it('a client that reads its answers may ask before it has them', async () => {
  const tenant = await tenantWith(node, ['1.1.0', { notes: 'x'.repeat(3000) }]);
  const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
  await ask(path);
  const [rounds, depth] = [40, 16];
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
  let [answers, asked] = [0, 0];
  const askMore = () => {
    for (let each = 0; each < depth; each++) {
      asked += 1;
      const device = `X-Service-Device: reader-${tenant.app}-${asked}`;
      socket.write(`GET ${path} HTTP/1.1\r\nHost: sluice\r\n${device}\r\n\r\n`);
    }
  };
  let text = '';
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const parts = text.split('HTTP/1.1 200 OK\r\n');
      answers += parts.length - 1;
      text = parts.at(-1)?.slice(-20) ?? '';
      if (answers === rounds * depth) resolve();
      else if (answers === asked) askMore();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`cut off after ${answers} answers`)));
    askMore();
  });
  socket.destroy();
});
