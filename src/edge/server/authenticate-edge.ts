// Authentication of edges by their tokens. An edge asks once or twice a second, so that what the ledger says
// of a token counts for a few seconds. While the ledger is away, it counts for longer: what edges follow is
// served from memory then, and they should not lose it because a token cannot be looked up.

import { LRUCache } from 'lru-cache';
import { equalSecrets, hashSecret, prefixOfSecret } from '../../access/api-keys.ts';
import { fail, type Outcome } from '../../contract/failure.ts';
import { Unavailable } from '../../contract/unavailable.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { EdgeLedger, EdgeScope, StoredEdgeToken } from '../../store/edge-ledger.ts';

/** Edge that has shown a valid token. */
export type Edge = {
  /** Id of its token, which several edges may share. */
  readonly tokenId: string;
  /** Organization whose apps it may know; null for all. */
  readonly scope: EdgeScope;
};

/** Milliseconds for which a token counts as it was read: the longest time that a revoked one is accepted. */
const FRESH_MS = 4000;
/** Milliseconds for which it counts while the ledger does not answer. */
const KEPT_MS = 3_600_000;
const TOKENS_MAX = 10_000;
/** Maximum number of look-ups at a time, and of those that wait: invented tokens take no more connections. */
const LOOKUPS_RUNNING_MAX = 2;
const LOOKUPS_WAITING_MAX = 1000;

type Known = { readonly token: StoredEdgeToken; readonly readAt: number };

export class AuthenticateEdge {
  private readonly ledger: Pick<EdgeLedger, 'findEdgeToken'>;
  private readonly now: () => number;
  private readonly known = new LRUCache<string, Known>({ max: TOKENS_MAX });
  private readonly gate = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  /** `now` returns milliseconds that never go back. */
  constructor(
    ledger: Pick<EdgeLedger, 'findEdgeToken'>,
    now: () => number = () => performance.now(),
  ) {
    this.ledger = ledger;
    this.now = now;
  }

  /**
   * Returns the edge that a secret belongs to; a missing, an invalid and a revoked one look the same. Rejects
   * with `Unavailable` when the ledger does not answer and the token was not seen for an hour.
   */
  async authenticate(secret: string | undefined): Promise<Outcome<Edge, 'edgeUnauthorized'>> {
    const prefix = secret === undefined ? undefined : prefixOfSecret('sluice-edge', secret);
    if (secret === undefined || prefix === undefined) return fail('edgeUnauthorized');
    const token = await this.find(prefix);
    const isRight = equalSecrets(hashSecret(secret), token?.secretHash ?? '');
    if (token === undefined || !isRight || token.isRevoked) return fail('edgeUnauthorized');
    return { tokenId: token.id, scope: token.organizationId };
  }

  private async find(prefix: string): Promise<StoredEdgeToken | undefined> {
    const known = this.known.get(prefix);
    if (known !== undefined && this.now() - known.readAt < FRESH_MS) return known.token;
    const readAt = this.now();
    try {
      const token = await this.gate.pass(() => this.ledger.findEdgeToken(prefix));
      if (token === undefined) this.known.delete(prefix);
      else this.known.set(prefix, { token, readAt });
      return token;
    } catch (error) {
      const isKept = known !== undefined && readAt - known.readAt < KEPT_MS;
      if (error instanceof Unavailable && isKept) return known.token;
      throw error;
    }
  }
}
