// Operations on approvals (docs/contract.md 33): programs read them, people decide. Here is also what an
// approval carries out: the operation of the call that waits.

import { z } from 'zod';
import type { Principal } from '../../access/api-keys.ts';
import {
  APPROVAL_STATUSES,
  type AskedOperation,
  type StoredApproval,
} from '../../contract/approval.ts';
import { type FailureKind, isFailure, type Outcome } from '../../contract/failure.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { nameField } from '../shape/field.ts';
import { parseShape } from '../shape/parse-shape.ts';
import { type ChangeServices, type KeyOperation, read } from './key-operation.ts';

const approvalId = z.object({ id: z.string().describe('Id of the approval.') });

/** Query of a list of approvals. */
export const approvalQuery = z.object({
  app: nameField.optional().describe('Ref or id; all apps when left out.'),
  status: z.enum(APPROVAL_STATUSES).optional().describe('All of them when left out.'),
  before: nameField.optional().describe('`next` of the page before.'),
});

/** Operations of `/api/v1/approvals`. */
export const APPROVAL_OPERATIONS: readonly KeyOperation[] = [
  read({
    ...{ path: '/api/v1/approvals', id: 'listApprovals', tag: 'Releases' },
    summary: 'List the calls that wait for an approval, and what became of them',
    input: approvalQuery,
    answer: ['A page of them, newest first.', ANSWER_SHAPES.ApprovalPage],
    refusals: [404],
    run: ({ approvals }, caller, query) => approvals.list(caller, query),
  }),
  read({
    ...{ path: '/api/v1/approvals/:id', id: 'readApproval', tag: 'Releases' },
    summary: 'Read an approval',
    input: approvalId,
    answer: ['The approval.', ANSWER_SHAPES.ApprovalAnswer],
    refusals: [404],
    run: ({ approvals }, caller, { id }) => approvals.find(caller, id),
  }),
];

/** Operation that an approval carries out. */
export type CarriedOut<Services> = {
  /** Shape that reads the stored body again. */
  readonly input: z.ZodType;
  readonly run: (
    services: Services,
    who: Principal,
    body: never,
  ) => Promise<Outcome<unknown, FailureKind>>;
};

/** Runs a stored call as the approver, who must carry the approval (`AccountActor.approves`). */
export async function carryOut<Services extends ChangeServices>(
  operations: ReadonlyMap<AskedOperation, CarriedOut<Services>>,
  services: Services,
  who: Principal,
  { operation, body }: StoredApproval['request'],
): Promise<Outcome<unknown, FailureKind>> {
  const found = operations.get(operation);
  if (found === undefined) throw new Error(`No operation ${operation} could be carried out`);
  const read = parseShape(found.input, body);
  return isFailure(read) ? read : found.run(services, who, read as never);
}
