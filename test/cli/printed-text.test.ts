// Tests the texts that the commands print: of answers, approvals and health, of how far something is, and
// that no value obeys or turns the terminal.

import { expect, it } from 'vitest';
import { approvalsText, approvalText, waitingText } from '../../src/cli/call/approval-text.ts';
import { healthText } from '../../src/cli/print/plan-text.ts';
import { printAnswer, printableText } from '../../src/cli/print/print-answer.ts';
import { ProgressLine } from '../../src/cli/print/progress-line.ts';
import type { Approval } from '../../src/contract/resource.ts';
import { judgeHealth } from '../../src/domain/rollout/judge-health.ts';
import { NO_SIGNALS } from '../../src/domain/rollout/signal-counts.ts';
import { guards } from '../domain/rollout/plan-fixture.ts';

it.each([
  ['Größe & Söhne 日本 \u{1f680}', 'Größe & Söhne 日本 \u{1f680}'],
  ['a\u0000\t\n\r\u001b\u007f\u009bz', 'a\\u0000\\u0009\\u000a\\u000d\\u001b\\u007f\\u009bz'],
  ['\u061c\u200e\u200f', '\\u061c\\u200e\\u200f'],
  ['\u202a\u202b\u202c\u202d\u202e', '\\u202a\\u202b\\u202c\\u202d\\u202e'],
  ['\u2066\u2067\u2068\u2069', '\\u2066\\u2067\\u2068\\u2069'],
  ['a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
  [{ name: 'a\u202eb', list: [1, '\u001b'] }, '{"name":"a\\u202eb","list":[1,"\\u001b"]}'],
  [undefined, ''],
])('what a terminal would obey is escaped: %j', (value, text) => {
  expect(printableText(value)).toBe(text);
});

it('a field is a line, without null and JSON: a list by commas, a record as its fields', () => {
  const answer = {
    ...{ id: 'dst_1', to: null, notes: '', enabled: false, rollout: 0 },
    ...{ channels: ['stable', 'beta'], apps: [], labels: {} },
    guards: { failedPercent: 2, source: null },
    steps: [{ rollout: 1 }, { rollout: 10, hours: { from: '09:00' } }],
    ...{ name: 'a\nb', names: ['\u001b[31mred'] },
  };
  expect(printAnswer(answer).split('\n')).toEqual([
    ...['id: dst_1', 'to: -', 'notes: -', 'enabled: false', 'rollout: 0'],
    ...['channels: stable, beta', 'apps: -', 'labels: -'],
    'guards: failedPercent: 2, source: -',
    'steps: (rollout: 1), (rollout: 10, hours: (from: 09:00))',
    ...['name: a\\u000ab', 'names: \\u001b[31mred'],
  ]);
});

const CLEAR = '\r\u001b[K';
const DAYS = Array.from({ length: 14 }, (_, index) => `${CLEAR}day ${index + 1}`);

it.each<[where: string, isTTY: boolean, linesMs: number | undefined, written: readonly string[]]>([
  ['on a terminal is one line, taken away at the end', true, undefined, [...DAYS, CLEAR]],
  ['elsewhere is a line every so often', false, 5000, ['day 1\n', 'day 6\n', 'day 11\n']],
  ['elsewhere is nothing unless lines are wanted', false, undefined, []],
])('how far something is, %s', (_, isTTY, linesMs, written) => {
  const parts: string[] = [];
  let now = 0;
  const stream = { isTTY, write: (text: string) => parts.push(text) };
  const line = new ProgressLine(stream, linesMs, () => now);
  for (let day = 1; day <= 14; day++) {
    line.show(`day ${day}`);
    // Again within a tenth of a second: once is enough.
    line.show(`day ${day} again`);
    now += 1000;
  }
  line.clear();
  line.clear();
  expect(parts).toEqual(written);
});

it('health names the network that keeps a guard from judging, and only that (§27.14)', () => {
  const textOf = (hits: number) => {
    const stuck = { count: 1, parts: [{ hits, base: 200 }] };
    const networks = { ...NO_SIGNALS.networks, stuck };
    const context = { tripped: [], silentOthers: null, isOffered: true };
    const counts = { ...NO_SIGNALS, stuck: hits, stuckBase: 260, networks };
    const judged = judgeHealth(counts, { ...context, guards: guards({ stuckPercent: 2.5 }) });
    return healthText(judged.health);
  };
  expect(textOf(200)).toContain(
    '\nstuck: without one network (200 of its 200 devices) too few are left to judge by',
  );
  expect(textOf(1)).not.toContain('network');
});

const UNTIL = '2026-02-03T04:05:06.000Z';
const PAGE = 'https://releases.example.com/console/approvals/apr_1';
const PLACE = { app: 'notes', channel: 'stable', version: '1.0.0' };

function approval(parts: Partial<Approval> = {}): Approval {
  return {
    ...{ id: 'apr_1', status: 'pending', requestedBy: 'key CI', reason: null, effect: null },
    request: { operation: 'controlServing', ...PLACE, body: { rollout: 100 } },
    ...{ createdAt: UNTIL, expiresAt: UNTIL, decidedBy: null, decidedAt: null, result: null },
    url: PAGE,
    ...parts,
  };
}

it('who asked for an approval is told what waits, who decides and where; later, what became of it', () => {
  expect(waitingText(approval()).split('\n')).toEqual([
    'Waits for an approval: change the serving of notes stable 1.0.0. Nothing is done yet.',
    `Another publisher or owner has to approve it until ${UNTIL}:`,
    `  ${PAGE}`,
    'To see what became of it: sluice approval show apr_1',
  ]);
  const request = { operation: 'updateChannel', ...PLACE, version: null, body: {} } as const;
  expect(waitingText(approval({ status: 'approved', request }))).toBe(
    'change the settings of notes stable: approved (apr_1)',
  );
});

it('the list of approvals has a line for each, without a date once it is decided', () => {
  const decided = approval({ id: 'apr_2', status: 'declined', decidedBy: 'Olga' });
  const text = approvalsText({ approvals: [approval(), decided], next: null }, {});
  const deed = 'change the serving of notes stable 1.0.0';
  expect(text.split('\n').map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['ID', 'STATUS', 'WHAT', 'ASKED BY', 'UNTIL', 'DECIDED BY'],
    ['apr_1', 'pending', deed, 'key CI', UNTIL, '-'],
    ['apr_2', 'declined', deed, 'key CI', '-', 'Olga'],
  ]);
  expect(approvalsText({ approvals: [], next: null }, {})).toBe('no approvals');
});

it('an approval alone says all that is known of it: before it is decided, and after', () => {
  const effect = { devices: 10, isEstimate: true, lose: 1, moves: [], reached: 4 };
  const told = approvalText(approval({ reason: 'all is well', effect: effect as never }));
  expect(told.split('\n')).toEqual([
    'change the serving of notes stable 1.0.0: pending',
    ...['id: apr_1', 'asked by: key CI', 'reason: all is well'],
    expect.stringMatching(/^effect: of about 10 devices, .*, 1 are offered nothing any more$/),
    ...[`until: ${UNTIL}`, `page: ${PAGE}`],
  ]);
  const result = { reason: 'not on\u001b a Friday' };
  const declined = approvalText(approval({ status: 'declined', decidedBy: 'Olga', result }));
  expect(declined.split('\n').slice(3)).toEqual([
    ...['decided by: Olga', 'why: not on\\u001b a Friday', `page: ${PAGE}`],
  ]);
});
