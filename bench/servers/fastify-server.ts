// Peer of the service on fastify. Its decision is one hard-coded comparison.

import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import type { FixedAnswer } from '../load/ask.ts';

const answer = JSON.parse(process.argv[2] ?? '') as FixedAnswer;
const body = Buffer.from(answer.body);
const headers = Object.fromEntries(answer.headers);

type Params = { readonly app: string; readonly version: string };

const server = fastify();
server.get<{ Params: Params }>('/u/:app/:channel/:platform/:arch/:version', (request, reply) => {
  if (request.params.version === '1.2.0') return reply.code(204).send();
  return reply.headers(headers).send(body);
});
await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.((server.server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit(0));
