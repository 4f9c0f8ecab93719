// Receiver of webhooks for tests: a server on loopback that notes what arrives, and answers as a test says.

import { createServer, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { bodyOf, listening } from './loopback-server.ts';

/** Message that arrived, its signature checked. */
type Received = {
  /** Id of the event. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly atMs: number;
};

export type Receiver = {
  readonly url: string;
  readonly received: readonly Received[];
  /** Secret of the destination; without one, messages are taken unchecked. */
  secret: string | undefined;
  /** Answers a message; default: 204. */
  answer: (response: ServerResponse, message: Received) => void;
  close(): Promise<void>;
};

/** Settings with which a node sends to receivers of this kind. */
export const TO_LOOPBACK = { NOTIFY_PRIVATE: '127.0.0.0/8' };

/** Address of receivers that the run's shared nodes send to; they refuse any other of the machine. */
export const SHARED_RECEIVER = '127.0.0.9';

export async function startReceiver(address = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = (await bodyOf(request))?.toString();
    if (body === undefined) return;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    if (receiver.secret !== undefined) new Webhook(receiver.secret).verify(body, headers);
    const { type, data } = JSON.parse(body);
    const message = { id: headers['webhook-id'] ?? '', type, data, atMs: Date.now() };
    received.push(message);
    receiver.answer(response, message);
  });
  const { port, close } = await listening(server, 0, address);
  const receiver: Receiver = {
    url: `http://${address}:${port}/hook`,
    received,
    secret: undefined,
    answer: (response) => response.writeHead(204).end(),
    close,
  };
  return receiver;
}
