// Guard of the endpoints for edges: authenticates the edge (401), turns away one that follows another record
// (409), and signs what it is answered, also a refusal, and that nothing is new.

import type { EdgeAnswer } from '../../contract/edge-answer.ts';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
  NONCE,
} from '../../contract/edge-signature.ts';
import {
  type Failure,
  type FailureKind,
  fail,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import type { AuthenticateEdge, Edge, EdgeSigner } from '../../edge/server/edge-tokens.ts';
import { bearerToken } from '../bearer-token.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../reply.ts';

export type EdgeGuardDependencies = {
  readonly edges: AuthenticateEdge;
  /** Undefined without a SECRET_KEY, in which case no edge can follow. */
  readonly signer: EdgeSigner | undefined;
  /** Returns the name of the record of this service; null where it has none yet. */
  readonly record: () => Promise<string | null>;
};

/** Answer to an edge; undefined is 304. */
type EdgeWork = (
  edge: Edge,
  exchange: Exchange,
) => Promise<Outcome<EdgeAnswer | undefined, FailureKind>>;

export type EdgeGuard = (work: EdgeWork) => Handler;

/** Milliseconds after which an edge has waited for its answer. */
const WAITED_MS = 500;

/** Builds the guard. */
export function createEdgeGuard({ edges, signer, record }: EdgeGuardDependencies): EdgeGuard {
  return (work) => async (exchange) => {
    const edge = await edges.authenticate(bearerToken(exchange));
    if (isFailure(edge)) return strangerReply(edge, exchange);
    if (signer === undefined) return failureReply(fail('edgesNeedSecretKey'));
    const followed = exchange.headers.get(EDGE_RECORD_HEADER);
    if (followed !== undefined && followed !== (await record())) {
      return signed(signer, nonceOf(exchange), failureReply(fail('otherRecord')));
    }
    const beganAt = performance.now();
    const answer = await work(edge, exchange);
    if (answer !== undefined && performance.now() - beganAt > WAITED_MS) {
      // Revoked meanwhile, perhaps: what is new is not for it.
      const still = await edges.authenticate(bearerToken(exchange));
      if (isFailure(still)) return strangerReply(still, exchange);
    }
    return signed(signer, nonceOf(exchange), replyOf(answer));
  };
}

function strangerReply(refusal: Failure<'edgeUnauthorized'>, { notes }: Exchange): Reply {
  notes.add(['WWW-Authenticate', 'Bearer']);
  return failureReply(refusal);
}

/** Returns what the edge has put into its call; nothing where it has another form. */
function nonceOf({ headers }: Exchange): string {
  const nonce = headers.get(EDGE_NONCE_HEADER) ?? '';
  return NONCE.test(nonce) ? nonce : '';
}

function replyOf(answer: Outcome<EdgeAnswer | undefined, FailureKind>): Reply {
  if (isFailure(answer)) return failureReply(answer);
  if (answer === undefined) return { status: 304, headers: NO_STORE };
  const tag: readonly HeaderPair[] = answer.kind === 'index' ? [['ETag', `"${answer.tag}"`]] : [];
  const body = Buffer.from(JSON.stringify(answer));
  return { status: 200, contentType: 'application/json', headers: [...NO_STORE, ...tag], body };
}

function signed(signer: EdgeSigner, nonce: string, reply: Reply): Reply {
  const signatures = signer.sign(nonce, reply.status, Buffer.from(reply.body ?? ''));
  return { ...reply, headers: [...(reply.headers ?? []), [EDGE_SIGNATURE_HEADER, signatures]] };
}
