// Administration of the tokens of edges, which is the operator's: edges are a part of how the service is run.

import { createBearerSecret } from '../../access/api-keys.ts';
import type {
  IssuedEdgeToken,
  ListedEdgeToken,
  RevokedEdgeToken,
} from '../../contract/edge-token.ts';
import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { EdgeLedger, EdgeScope } from '../../store/edge-ledger.ts';
import type { Actor } from '../../store/ledger-terms.ts';
import type { EdgeSigner } from './edge-signer.ts';

type TokenLedger = Pick<EdgeLedger, 'createEdgeToken' | 'listEdgeTokens' | 'revokeEdgeToken'>;

export class EdgeTokens {
  private readonly ledger: TokenLedger;
  private readonly signer: EdgeSigner | undefined;

  /** Without a signer, because there is no SECRET_KEY, no token can be created. */
  constructor(ledger: TokenLedger, signer: EdgeSigner | undefined) {
    this.ledger = ledger;
    this.signer = signer;
  }

  /** Creates a token. Its secret, with the key of the service's signatures, is in this answer only. */
  async create(
    name: string,
    organizationId: EdgeScope,
    actor: Actor,
  ): Promise<Outcome<IssuedEdgeToken, 'edgesNeedSecretKey' | LostRight>> {
    if (this.signer === undefined) return fail('edgesNeedSecretKey');
    const { secret, prefix, hash } = createBearerSecret('sluice-edge');
    const token = await this.ledger.createEdgeToken(
      { organizationId, name, prefix, secretHash: hash },
      actor,
    );
    if (isFailure(token)) return token;
    return { ...token, secret: `${secret}.${this.signer.publicKey}` };
  }

  /** Lists the newest tokens, revoked ones included. */
  list(): Promise<readonly ListedEdgeToken[]> {
    return this.ledger.listEdgeTokens();
  }

  /** Revokes a token: its edges are refused within five seconds. */
  revoke(
    id: string,
    actor: Actor,
  ): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>> {
    return this.ledger.revokeEdgeToken(id, actor);
  }
}
