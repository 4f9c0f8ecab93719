// Operations on approvals (docs/contract.md 33): programs can only read them; people decide in the console.

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { APPROVAL_STATUSES } from '../../contract/choice.ts';
import { nameField } from '../endpoint/field.ts';
import { type KeyOperation, read } from '../endpoint/key-operation.ts';

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
