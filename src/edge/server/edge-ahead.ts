// Examines indexes of edges that this service seems to be behind. The signature proves that the service once
// sent the index, so it is evidence of an earlier state of the ledger. If the ledger is behind it, because it
// went back or the edge followed another copy of the record meanwhile, its epoch is raised, and its states
// are newer than the edge's from then on.

import type { EdgeAheadAnswer, EdgeIndexAnswer } from '../../contract/edge.ts';
import { fail, invalidField, type Outcome } from '../../contract/failure.ts';
import { indexKinship, isIndexAhead } from '../../domain/decision/ledger-record.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { LedgerReport } from '../../store/ledger-identity.ts';
import type { EdgeIndex } from './edge-index.ts';
import type { EdgeSigner } from './edge-tokens.ts';

export type EdgeAheadDependencies = {
  readonly index: Pick<EdgeIndex, 'readPresent'>;
  /** Undefined if no SECRET_KEY is set; then no edge can follow. */
  readonly signer: Pick<EdgeSigner, 'isSigned'> | undefined;
  readonly ledger: Pick<Ledger, 'raiseEpoch'>;
  readonly report: Pick<LedgerReport, 'raised'>;
};

/** Index as an edge stores it. */
export type ShownIndex = {
  /** Nonce of the edge's call and the signatures of the answer, separated by a space. */
  readonly proof: string;
  /** Text of the answer. */
  readonly index: string;
};

const OK = 200;

export class EdgeAhead {
  constructor(private readonly dependencies: EdgeAheadDependencies) {}

  /**
   * Raises the epoch above a shown index if the ledger, read now, is behind it; `tokenId` identifies the
   * edge. Rejects with `Unavailable` if the ledger does not answer.
   */
  async settle(
    tokenId: string,
    { proof, index: text }: ShownIndex,
  ): Promise<Outcome<EdgeAheadAnswer>> {
    const { index, signer, ledger, report } = this.dependencies;
    const [nonce = '', signatures = ''] = proof.split(' ');
    if (signer?.isSigned(nonce, OK, Buffer.from(text), signatures) !== true) {
      return invalidField('proof', 'This service has not signed the index');
    }
    // The rest of its content is trusted, because it is signed.
    const held = JSON.parse(text) as EdgeIndexAnswer;
    if (held.kind !== 'index') return invalidField('index', 'Not an index');
    const present = await index.readPresent();
    if (indexKinship(held, present) === 'other') return fail('otherRecord');
    if (!isIndexAhead(held, present)) return { kind: 'ahead', epoch: present.epoch };
    const { epoch, isRaised } = await ledger.raiseEpoch(held.epoch);
    if (isRaised) report.raised(epoch, { edge: tokenId, held: held.epoch, found: present.epoch });
    return { kind: 'ahead', epoch: (await index.readPresent()).epoch };
  }
}
