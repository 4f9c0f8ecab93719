// Tests what a service makes of an index that an edge shows it because it seems to be behind (§29.10).

import { expect, it } from 'vitest';
import type { EdgeIndexAnswer, EdgeIndexEntry } from '../../src/contract/edge.ts';
import { EdgeAhead } from '../../src/edge/server/edge-ahead.ts';
import { EdgeSigner } from '../../src/edge/server/edge-tokens.ts';
import { KeptReport } from '../support/ledger-options.ts';

const NONCE = 'n'.repeat(22);
const KEYS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const signer = new EdgeSigner({ deriveKeys: () => KEYS });

function indexAt(epoch: number, revision: number, parts: Partial<EdgeIndexAnswer> = {}) {
  const entry: EdgeIndexEntry = ['app_1', 'app', 'chn_1', 'stable', revision, []];
  const index = { kind: 'index', record: 'rec_1', line: 'a', at: 0, tag: 't', isComplete: true };
  return JSON.stringify({ ...index, epoch, channels: [entry], ...parts });
}

/** Shows an index to a service whose ledger is at epoch 3, with its channel at revision 5. */
async function show(index: string, proof = proofOf(index)) {
  const report = new KeptReport();
  const present = { record: 'rec_1', line: 'a', epoch: 3 };
  const ahead = new EdgeAhead({
    index: {
      readPresent: async () => ({
        ...present,
        revisionOf: (id) => (id === 'chn_1' ? 5 : undefined),
      }),
    },
    signer,
    ledger: {
      async raiseEpoch(above) {
        const isRaised = present.epoch <= above;
        if (isRaised) present.epoch = above + 1;
        return { epoch: present.epoch, isRaised };
      },
    },
    report,
  });
  return { answer: await ahead.settle('edt_1', { proof, index }), raised: report.epochs };
}

function proofOf(index: string, by = signer): string {
  return `${NONCE} ${by.sign(NONCE, 200, Buffer.from(index))}`;
}

it.each([
  ['as the ledger is', indexAt(3, 5), 3],
  ['that is older', indexAt(3, 4), 3],
  ['of an earlier epoch', indexAt(2, 9), 3],
  ['with a later revision', indexAt(3, 6), 4],
  ['of a later epoch', indexAt(7, 1), 8],
  ['of another copy that came to the same epoch', indexAt(3, 5, { line: 'b' }), 4],
  ['from before there were names of records', indexAt(4, 1, { record: undefined }), 5],
])('an index %s leaves or raises the epoch', async (_, index, epoch) => {
  const { answer, raised } = await show(index);
  expect(answer).toEqual({ kind: 'ahead', epoch });
  expect(raised).toEqual(epoch === 3 ? [] : [epoch]);
});

it.each([
  ['of another record', indexAt(9, 9, { record: 'rec_2' }), undefined, 'otherRecord'],
  ['that this service has not signed', indexAt(9, 9), proofOf(indexAt(9, 8)), 'invalid'],
  [
    'that another service has signed',
    indexAt(9, 9),
    proofOf(indexAt(9, 9), new EdgeSigner({ deriveKeys: () => [Buffer.alloc(32, 9)] })),
    'invalid',
  ],
  ['without a proof', indexAt(9, 9), 'x', 'invalid'],
  ['that is another answer', '{"kind":"time","at":1}', undefined, 'invalid'],
])('one %s raises nothing', async (_, index, proof, failure) => {
  const { answer, raised } = await show(index, proof);
  expect(answer).toMatchObject({ failure });
  expect(raised).toEqual([]);
});
