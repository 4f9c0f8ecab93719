// The way between an edge and its upstream in the hands of somebody who is neither: answers are passed on,
// changed, robbed of their signatures, signed anew or replaced by earlier ones, as a test says.

import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EDGE_NONCE_HEADER, EDGE_SIGNATURE_HEADER, signedHead } from '../../src/contract/edge.ts';

/** Answer of the upstream on its way. */
export type WayAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** Returns what the edge gets; `path` and `nonce` are those of its request. */
export type OnTheWay = (path: string, answer: WayAnswer, nonce: string) => WayAnswer;

export type EdgeWay = {
  readonly url: string;
  /** Sets what happens to answers from now on. */
  set(onTheWay: OnTheWay): void;
  stop(): void;
};

const AS_IT_IS: OnTheWay = (_, answer) => answer;
const foreign = generateKeyPairSync('ed25519').privateKey;

/** Opens a way to an upstream, on which nothing happens at first. */
export async function startEdgeWay(upstream: string): Promise<EdgeWay> {
  let onTheWay = AS_IT_IS;
  const server = createServer((incoming, outgoing) => {
    const { method, url = '/', headers } = incoming;
    const passed = request(`${upstream}${url}`, { method, headers }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const came = {
        status: answer.statusCode ?? 502,
        headers: answer.headers,
        body: Buffer.concat(chunks),
      };
      const {
        status,
        headers: left,
        body,
      } = onTheWay(url, came, String(headers[EDGE_NONCE_HEADER]));
      delete left['content-length'];
      outgoing.writeHead(status, left).end(body);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set(next) {
      onTheWay = next;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Changes bytes of every signed answer, and leaves the signature. */
export const tampering: OnTheWay = (_, answer) => {
  if (answer.status !== 200) return answer;
  return { ...answer, body: Buffer.from(answer.body.toString().replace(/"at":\d/, '"at":9')) };
};

/** Takes the signature away. */
export const unsigning: OnTheWay = (_, { headers, ...answer }) => {
  const { [EDGE_SIGNATURE_HEADER]: __, ...others } = headers;
  return { ...answer, headers: others };
};

/** Signs every answer with another key. */
export const forging: OnTheWay = (_, answer, nonce) => {
  const signed = Buffer.concat([Buffer.from(signedHead(nonce, answer.status)), answer.body]);
  const signature = sign(null, signed, foreign).toString('base64url');
  return { ...answer, headers: { ...answer.headers, [EDGE_SIGNATURE_HEADER]: signature } };
};
