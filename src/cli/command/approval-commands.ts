// Commands that show which calls wait for an approval, and what became of them. People decide in the console.

import type { Command } from 'commander';
import { APPROVAL_STATUSES } from '../../contract/choice.ts';
import type { Approval } from '../../contract/resource.ts';
import { approvalsText, approvalText } from '../call/approval-text.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { choice, query } from '../call/options.ts';

type ApprovalAnswer = { readonly approval: Approval };

/** Adds the commands, which call the management API. */
export function addApprovalCommands(program: Command, connect: Connect): void {
  const approval = program
    .command('approval')
    .description('calls that wait for a second person, with SLUICE_KEY');
  const list = approval
    .command('list')
    .description('list what waits, and what became of it, newest first')
    .option('--app <ref>', 'only of this app')
    .addOption(choice('--status <status>', 'only of this status', APPROVAL_STATUSES))
    .option('--before <id>', 'the page after this approval');
  asking(list, connect, (options) => send('GET', `approvals?${query(options)}`), {
    text: approvalsText,
  });
  asking(
    approval.command('show <id>').description('show a call that waits, and what became of it'),
    connect,
    (_options, [id = '']) => send('GET', `approvals/${encodeURIComponent(id)}`),
    { text: ({ approval }: ApprovalAnswer) => approvalText(approval) },
  );
}
