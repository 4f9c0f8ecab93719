// Commands that show which calls wait for an approval, and what became of them. People decide in the console.

import { type Command, Option } from 'commander';
import { APPROVAL_STATUSES, type Approval } from '../../contract/approval.ts';
import { approvalsText, approvalText } from '../call/approval-text.ts';
import { asking, type Connect } from '../call/asking.ts';
import { query } from '../call/options.ts';

type ApprovalAnswer = { readonly approval: Approval };

/** Adds the commands, which call the management API. */
export function addApprovalCommands(program: Command, connect: Connect): void {
  const approval = program
    .command('approval')
    .description('calls that wait for a second person, with SLUICE_KEY');
  asking(
    approval
      .command('list')
      .description('list what waits, and what became of it, newest first')
      .option('--app <ref>', 'only of this app')
      .addOption(new Option('--status <status>', 'only of this status').choices(APPROVAL_STATUSES))
      .option('--before <id>', 'the page after this approval'),
    connect,
    (options) => ({ method: 'GET', path: `approvals?${query(options)}` }),
    { text: approvalsText },
  );
  asking(
    approval.command('show <id>').description('show a call that waits, and what became of it'),
    connect,
    (_options, [id = '']) => ({ method: 'GET', path: `approvals/${encodeURIComponent(id)}` }),
    { text: ({ approval }: ApprovalAnswer) => approvalText(approval) },
  );
}
