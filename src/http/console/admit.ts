// Who may use the console API: whoever holds the admin token. What a route's work comes to is the answer.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { equalSecrets } from '../../operations/api-key.ts';
import { bearerToken } from '../bearer-token.ts';
import type { EventSource } from '../event-stream.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, jsonReply } from '../reply.ts';

type Work = (exchange: Exchange) => Promise<Outcome<unknown>>;

/** Wraps work so that it only runs for an operator; it answers with `status`, or with its refusal. */
export type Admit = (work: Work, status?: number) => Handler;

class Streaming {
  readonly source: EventSource;

  constructor(source: EventSource) {
    this.source = source;
  }
}

/** Builds `Admit`. Without an admin token it refuses everybody. */
export function createAdmit(adminToken: string | undefined): Admit {
  return (work, status = 200) =>
    async (exchange) => {
      const presented = bearerToken(exchange);
      const isAdmitted =
        adminToken !== undefined && presented !== undefined && equalSecrets(presented, adminToken);
      const outcome = isAdmitted ? await work(exchange) : fail('adminUnauthorized');
      if (isFailure(outcome)) return failureReply(outcome);
      if (outcome instanceof Streaming) return { status: 200, events: outcome.source };
      return jsonReply(status, outcome);
    };
}

/** Marks a result as a stream of events instead of a JSON document. */
export function streaming(source: EventSource): unknown {
  return new Streaming(source);
}
