// What is learned of a request while it is answered, beside its answer: its id, its app, and headers that its
// answer gets whatever it will be.

import { randomUUID } from 'node:crypto';
import type { HeaderPair, Reply } from './reply.ts';

/** Ids that callers may give: no other text is taken into the log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

export class RequestNotes {
  /** Ref or id of the app that the request names, once that is known. */
  app: string | undefined;
  /**
   * Id of the request in the log and the audit: the caller's, when it has the form of one, else a made one.
   */
  readonly requestId: string;
  private readonly headers: HeaderPair[] = [];
  private isIdTold = false;

  /** `givenId` is the caller's header `X-Request-Id`, if there is one. */
  constructor(givenId?: string) {
    this.requestId = givenId !== undefined && REQUEST_ID.test(givenId) ? givenId : randomUUID();
  }

  /** Adds headers to the answer, whether the request will succeed, be refused or fail. */
  add(...headers: readonly HeaderPair[]): void {
    this.headers.push(...headers);
  }

  /** Has the answer carry the id. */
  tellId(): void {
    if (this.isIdTold) return;
    this.isIdTold = true;
    this.add(['X-Request-Id', this.requestId]);
  }

  /** Returns the reply with the headers that were added. */
  addTo(reply: Reply): Reply {
    if (this.headers.length === 0) return reply;
    return { ...reply, headers: [...(reply.headers ?? []), ...this.headers] };
  }
}
