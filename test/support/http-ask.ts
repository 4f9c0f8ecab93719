// Asks over HTTP on a connection that the test chooses; what `fetch` keeps and closes is its own affair.

import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';

export type Reply = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The client's port of the connection, which tells connections apart. */
  readonly localPort: number | undefined;
};

export type Asked = Pick<RequestOptions, 'method' | 'headers' | 'agent' | 'localAddress'> & {
  readonly body?: string;
  /** Whether to leave after the first bytes of the answer, which may never end. */
  readonly isLeaving?: boolean;
};

/** Sends a request over the agent's connection, else over one of its own. Certificates are not checked. */
export function ask(url: string, { body, isLeaving, ...options }: Asked = {}): Promise<Reply> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const sent = send(url, { agent: false, rejectUnauthorized: false, ...options });
  const reply = replyTo(sent, isLeaving);
  sent.end(body);
  return reply;
}

/** Returns the answer to a request; rejects when the connection breaks. */
export function replyTo(sent: ClientRequest, isLeaving = false): Promise<Reply> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (answer) => {
      const { statusCode: status = 0, headers, socket } = answer;
      const { localPort } = socket;
      let text = '';
      const end = () => resolve({ status, headers, text, localPort });
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
        if (!isLeaving) return;
        end();
        sent.destroy();
      });
      answer.on('error', reject);
      answer.on('end', end);
    });
  });
}

/** Returns what a call came to: the status of its answer, or the code of the error that came instead. */
export function outcomeOf(reply: Promise<Pick<Reply, 'status'>>): Promise<string> {
  return reply.then(
    ({ status }) => String(status),
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
}
