// Tests what `sluice move` prints: whether anything has moved, and where to.

import { expect, it } from 'vitest';
import { addLocalCommands } from '../../../src/cli/command/local-commands.ts';
import { runSluiceHere } from '../../support/sluice-command.ts';

const COPIED = { tables: 50, rows: 144, seconds: 6.6 };
const TO = 'db.example.com:5432/sluice';

/** Runs the command; `isThere` is whether an earlier run has moved the record. */
function move(args: readonly string[], isThere = false) {
  return runSluiceHere(['move', ...args], {}, (program) =>
    addLocalCommands(program, {
      diagnose: () => Promise.reject(new Error('not asked')),
      edge: () => Promise.reject(new Error('not asked')),
      migrate: () => Promise.reject(new Error('not asked')),
      move: async (_to, isDryRun) => ({ ...COPIED, to: TO, moved: isThere || !isDryRun }),
      undoMove: async () => true,
    }),
  );
}

it('a dry run says that nothing has moved, and where to it would', async () => {
  const { code, stdout, stderr } = await move(['--dry-run']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual([
    ...['tables: 50', 'rows: 144', 'seconds: 6.6'],
    `Nothing has moved: this was a dry run to PostgreSQL at ${TO}, and what it wrote there is taken back.`,
    '',
  ]);
  const json = await move(['--dry-run', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({ ...COPIED, to: TO, moved: false });
});

it('a dry run after the move says that the record is there already', async () => {
  const { stdout } = await move(['--dry-run'], true);
  expect(stdout).toContain(`This record is in PostgreSQL at ${TO} already`);
  expect(stdout).not.toContain('Nothing has moved');
});

it('a move says where the record is now, and what comes next', async () => {
  const { stdout } = await move([]);
  expect(stdout).toContain(`\nMoved to PostgreSQL at ${TO}.\n\nStart the service with that`);
  const json = await move(['--json']);
  expect(JSON.parse(json.stdout)).toEqual({ ...COPIED, to: TO, moved: true });
});

it('the way back says that the move is undone', async () => {
  expect((await move(['--undo'])).stdout).toMatch(/^The move is undone: [^\n]+\n$/);
  expect((await move(['--undo', '--json'])).stdout).toBe('{"undone":true}\n');
});
