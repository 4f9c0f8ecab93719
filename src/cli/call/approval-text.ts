// Text of approvals for the terminal.

import type { Approval, ApprovalPage } from '../../contract/resource.ts';
import { CALL_DEEDS, placeWords } from '../../words/name.ts';
import { effectText } from '../print/findings-text.ts';
import { type Column, fieldColumns, printableText, printTable } from '../print/print-answer.ts';
import { type Options, withNextPage } from './options.ts';

/** Says that a call waits, and for whom. */
export function waitingText(approval: Approval): string {
  const { id, status, expiresAt, url } = approval;
  if (status !== 'pending') return `${deedOf(approval)}: ${status} (${id})`;
  return [
    `Waits for an approval: ${deedOf(approval)}. Nothing is done yet.`,
    `Another publisher or owner has to approve it until ${expiresAt}:`,
    `  ${printableText(url)}`,
    `To see what became of it: sluice approval show ${id}`,
  ].join('\n');
}

/** Returns what a call would do, with the name of its subject. */
function deedOf({ request }: Approval): string {
  return `${CALL_DEEDS[request.operation]} ${printableText(placeWords(request))}`;
}

const COLUMNS: readonly Column<Approval>[] = [
  ...fieldColumns('id', 'status'),
  { label: 'what', value: deedOf },
  { label: 'asked by', value: ({ requestedBy }) => requestedBy },
  { label: 'until', value: ({ status, expiresAt }) => (status === 'pending' ? expiresAt : null) },
  { label: 'decided by', value: ({ decidedBy }) => decidedBy },
];

/** Returns a page of approvals as a table, and the command for the next page. */
export function approvalsText({ approvals, next }: ApprovalPage, options: Options): string {
  const table = printTable(COLUMNS, approvals, 'no approvals');
  return withNextPage(table, 'approval list', options, next === null ? {} : { before: next });
}

/** Returns the text of one approval: all of it but the body of its call. */
export function approvalText(approval: Approval): string {
  const { id, status, request, requestedBy, reason, effect, expiresAt, decidedBy, result, url } =
    approval;
  const error = result?.error ?? result?.reason;
  return [
    `${deedOf(approval)}: ${status}`,
    `id: ${id}`,
    `asked by: ${printableText(requestedBy)}`,
    ...(reason === null ? [] : [`reason: ${printableText(reason)}`]),
    ...(effect === null || request.version === null ? [] : [effectText(request.version, effect)]),
    ...(status === 'pending' ? [`until: ${expiresAt}`] : []),
    ...(decidedBy === null ? [] : [`decided by: ${printableText(decidedBy)}`]),
    ...(error === undefined ? [] : [`why: ${printableText(error)}`]),
    `page: ${printableText(url)}`,
  ].join('\n');
}
