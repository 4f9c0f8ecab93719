// Tests what the commands print of approvals: to who asked, in the list, and of one alone.

import { expect, it } from 'vitest';
import { approvalsText, approvalText, waitingText } from '../../../src/cli/call/approval-text.ts';
import type { Approval } from '../../../src/contract/resource.ts';

const UNTIL = '2026-02-03T04:05:06.000Z';
const URL = 'https://releases.example.com/console/approvals/apr_1';
const PLACE = { app: 'notes', channel: 'stable', version: '1.0.0' };

function approval(parts: Partial<Approval> = {}): Approval {
  return {
    ...{ id: 'apr_1', status: 'pending', requestedBy: 'key CI', reason: null, effect: null },
    request: { operation: 'controlServing', ...PLACE, body: { rollout: 100 } },
    ...{ createdAt: UNTIL, expiresAt: UNTIL, decidedBy: null, decidedAt: null, result: null },
    url: URL,
    ...parts,
  };
}

it('who asked is told that nothing is done yet, who decides, until when and where', () => {
  expect(waitingText(approval())).toBe(
    'Waits for an approval: change the serving of notes stable 1.0.0. Nothing is done yet.\n' +
      `Another publisher or owner has to approve it until ${UNTIL}:\n` +
      `  ${URL}\n` +
      'To see what became of it: sluice approval show apr_1',
  );
});

it('a call that waits no more is told as what became of it', () => {
  const request = { operation: 'updateChannel', ...PLACE, version: null, body: {} } as const;
  expect(waitingText(approval({ status: 'approved', request }))).toBe(
    'change the settings of notes stable: approved (apr_1)',
  );
});

it('the list has a line for each, without a date once it is decided', () => {
  const decided = { id: 'apr_2', status: 'declined', decidedBy: 'Olga' } as const;
  const rows = approvalsText({ approvals: [approval(), approval(decided)], next: null }, {}).split(
    '\n',
  );
  const deed = 'change the serving of notes stable 1.0.0';
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['ID', 'STATUS', 'WHAT', 'ASKED BY', 'UNTIL', 'DECIDED BY'],
    ['apr_1', 'pending', deed, 'key CI', UNTIL, '-'],
    ['apr_2', 'declined', deed, 'key CI', '-', 'Olga'],
  ]);
  expect(approvalsText({ approvals: [], next: null }, {})).toBe('no approvals');
});

it('one alone says all that is known of it: before it is decided, and after', () => {
  const effect = { devices: 10, isEstimate: true, lose: 1, moves: [], reached: 4 };
  const told = approvalText(approval({ reason: 'all is well', effect: effect as never }));
  expect(told.split('\n')).toEqual([
    'change the serving of notes stable 1.0.0: pending',
    'id: apr_1',
    'asked by: key CI',
    'reason: all is well',
    expect.stringMatching(/^effect: of about 10 devices, .*, 1 are offered nothing any more$/),
    `until: ${UNTIL}`,
    `page: ${URL}`,
  ]);
  const result = { reason: 'not on\u001b a Friday' };
  const declined = approvalText(approval({ status: 'declined', decidedBy: 'Olga', result }));
  expect(declined.split('\n').slice(3)).toEqual([
    'decided by: Olga',
    'why: not on\\u001b a Friday',
    `page: ${URL}`,
  ]);
});
