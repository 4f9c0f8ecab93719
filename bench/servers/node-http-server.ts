// Peer of the service on node:http. Its decision is one hard-coded comparison.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FixedAnswer } from '../load/ask.ts';

const answer = JSON.parse(process.argv[2] ?? '') as FixedAnswer;
const body = Buffer.from(answer.body);
const headers = { ...Object.fromEntries(answer.headers), 'Content-Length': body.length };

const server = createServer((request, response) => {
  const [, , app, , platform, arch, version] = (request.url ?? '').split('/');
  const isComplete = app !== '' && platform !== '' && arch !== undefined;
  if (isComplete && version !== '1.2.0') response.writeHead(200, headers).end(body);
  else response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
