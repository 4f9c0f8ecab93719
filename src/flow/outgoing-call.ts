// The one way in which the service calls others over HTTP. Whatever a server does, a call ends with an answer
// or an error, within one time limit for the whole exchange. Node's own client does not guarantee that: after
// an unexpected `101 Switching Protocols` it emits neither `response` nor `error`, and its timeouts are those
// of the socket.

import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import type { TcpSocketConnectOpts } from 'node:net';

export type OutgoingCall = {
  readonly url: string | URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Maximum time of the whole exchange: name, connection, TLS, request, answer with its body. */
  readonly timeoutMs: number;
  /** Maximum bytes of the answer's body. */
  readonly answerBytesMax: number;
  /** Whether the head and a part of the body suffice, if the rest does not arrive. Default: false. */
  readonly isPartEnough?: boolean;
  /** Ends the call, which rejects with the reason. */
  readonly signal?: AbortSignal;
  /** How to connect. Without an agent, the call has a connection of its own. */
  readonly connection?: Pick<RequestOptions, 'agent' | 'lookup' | 'ca'> &
    Pick<TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>;
};

export type OutgoingAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** Error of a call that took longer than it may. */
export class LateAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
    this.name = 'LateAnswer';
  }
}

/** Maximum number of interim answers (1xx) of a call; one more ends the call as its answer. */
const INTERIM_ANSWERS_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

/**
 * Makes a call. Resolves with the answer, of any status: redirects are not followed, and a change of protocol
 * is an answer 101 without a body. Rejects with a `LateAnswer` when the time is over, and with another error
 * when no answer arrives, or only a part of it (see `isPartEnough`).
 */
export function callOut(call: OutgoingCall): Promise<OutgoingAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = call;
    if (signal?.aborted) reject(signal.reason);
    else new Exchange(call, resolve, reject).begin();
  });
}

/** One exchange on the wire. What happens first settles it; what happens later has no effect. */
class Exchange {
  private readonly call: OutgoingCall;
  private readonly request: ClientRequest;
  private readonly timer: NodeJS.Timeout;
  private readonly parts: Buffer[] = [];
  private head: AnswerHead | undefined;
  private interimAnswers = 0;
  private bytes = 0;
  private isSettled = false;

  constructor(
    call: OutgoingCall,
    private readonly resolve: (answer: OutgoingAnswer) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.call = call;
    const { url, method, headers, connection, timeoutMs } = call;
    const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
    this.request = request(url, { method, headers, agent: false, ...connection });
    this.timer = setTimeout(() => this.fail(new LateAnswer(timeoutMs)), timeoutMs);
  }

  begin(): void {
    const { request, call } = this;
    call.signal?.addEventListener('abort', this.abort);
    request.on('error', (error) => this.fail(error));
    request.on('information', (head) => this.countInterim(head));
    request.on('upgrade', (head, socket) => {
      // From Node 26 on, destroying the request no longer destroys a socket that it has handed over.
      socket.destroy();
      this.conclude(head);
    });
    request.on('response', (response) => this.read(response));
    request.on('close', () => {
      // After the head, `read` decides: the rest of the body may still be on its way.
      if (this.head === undefined) this.fail(new Error('the connection was closed'));
    });
    const { body } = call;
    // Node sends no length with a DELETE: the server would take the body for the next request.
    if (body !== undefined) request.setHeader('content-length', Buffer.byteLength(body));
    request.end(body);
  }

  private readonly abort = (): void => this.fail(this.call.signal?.reason);

  private countInterim(head: AnswerHead): void {
    this.interimAnswers += 1;
    if (this.interimAnswers > INTERIM_ANSWERS_MAX) this.conclude(head);
  }

  private read(response: IncomingMessage): void {
    // Node reports a 101 that names no protocol as a response; its connection is just as useless.
    if (response.statusCode === SWITCHING_PROTOCOLS) return this.conclude(response);
    this.head = response;
    response.on('data', (part: Buffer) => this.add(part));
    response.on('end', () => this.conclude(response, response.complete));
    response.on('error', (error) => this.fail(error));
    response.on('close', () => this.fail(new Error('the answer was broken off')));
  }

  private add(part: Buffer): void {
    const room = this.call.answerBytesMax - this.bytes;
    this.bytes += part.length;
    this.parts.push(part.subarray(0, Math.max(0, room)));
    if (part.length > room) this.fail(new Error('the answer is too large'));
  }

  /** Settles with an error, or with the part of the answer that has arrived, if that is enough. */
  private fail(error: unknown): void {
    if (this.head !== undefined && this.call.isPartEnough) this.conclude(this.head);
    else this.settle(false, () => this.reject(error));
  }

  private conclude({ statusCode = 0, headers }: AnswerHead, isWhole = false): void {
    this.settle(isWhole, () => {
      this.resolve({ status: statusCode, headers, body: Buffer.concat(this.parts) });
    });
  }

  /** Leaves the connection to the agent only when both request and answer are whole. */
  private settle(isWhole: boolean, tell: () => void): void {
    if (this.isSettled) return;
    this.isSettled = true;
    clearTimeout(this.timer);
    this.call.signal?.removeEventListener('abort', this.abort);
    tell();
    if (!isWhole || !this.request.writableFinished) this.request.destroy();
  }
}

/** Status and headers of an answer, interim or final. */
type AnswerHead = Pick<IncomingMessage, 'headers'> & { readonly statusCode?: number | undefined };

/** Reads `Retry-After`, seconds or a date, as milliseconds from now; undefined if it is neither. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
