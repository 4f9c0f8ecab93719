// Guard of the endpoints for edges: authenticates the edge (401), and signs the answer.

import type { EdgeAnswer } from '../../contract/edge-answer.ts';
import { EDGE_SIGNATURE_HEADER } from '../../contract/edge-signature.ts';
import { type FailureKind, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { AuthenticateEdge, Edge } from '../../operations/access/authenticate-edge.ts';
import type { EdgeSigner } from '../../operations/access/edge-signer.ts';
import { bearerToken } from '../bearer-token.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../reply.ts';

export type EdgeGuardDependencies = {
  readonly edges: AuthenticateEdge;
  /** Undefined without a SECRET_KEY, in which case no edge can follow. */
  readonly signer: EdgeSigner | undefined;
};

/** Answer to an edge; undefined is 304. */
type EdgeWork = (
  edge: Edge,
  exchange: Exchange,
) => Promise<Outcome<EdgeAnswer | undefined, FailureKind>>;

export type EdgeGuard = (work: EdgeWork) => Handler;

/** Builds the guard. */
export function createEdgeGuard({ edges, signer }: EdgeGuardDependencies): EdgeGuard {
  return (work) => async (exchange) => {
    const edge = await edges.authenticate(bearerToken(exchange));
    if (isFailure(edge)) {
      exchange.notes.add(['WWW-Authenticate', 'Bearer']);
      return failureReply(edge);
    }
    if (signer === undefined) return failureReply(fail('edgesNeedSecretKey'));
    const answer = await work(edge, exchange);
    if (isFailure(answer)) return failureReply(answer);
    if (answer === undefined) return { status: 304, headers: NO_STORE };
    return signedReply(signer, answer);
  };
}

function signedReply(signer: EdgeSigner, answer: EdgeAnswer): Reply {
  const body = Buffer.from(JSON.stringify(answer));
  const signature: HeaderPair = [EDGE_SIGNATURE_HEADER, signer.sign(body)];
  const tag: readonly HeaderPair[] = answer.kind === 'index' ? [['ETag', `"${answer.tag}"`]] : [];
  const headers = [...NO_STORE, signature, ...tag];
  return { status: 200, contentType: 'application/json', headers, body };
}
