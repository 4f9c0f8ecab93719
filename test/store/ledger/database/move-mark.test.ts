// Tests the words of a move for an operator: its commands name the address of the other database as a shell
// takes it, and never its password.

import { expect, test } from 'vitest';
import { withoutPassword, wordsOf } from '../../../../src/store/ledger/database/move-mark.ts';

test.each([
  ['postgres://sluice:hunter2@db.example.com/sluice', 'postgres://sluice@db.example.com/sluice'],
  ['postgresql://db.example.com:6432/sluice', 'postgresql://db.example.com:6432/sluice'],
  ['postgres://a:hunter2@one,two:5433/b', 'postgres://a@one,two:5433/b'],
  ['postgres://a:hun@ter2@one/b', 'postgres://a@one/b'],
  [
    'postgres:///b?host=/run/pg&password=hunter2&sslmode=require',
    'postgres:///b?host=%2Frun%2Fpg&sslmode=require',
  ],
  ["postgres://o'hara@one/b", 'postgres://o%27hara@one/b'],
])('an address is shown without its password: %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown);
});

test('a mark of an earlier version, which has no address, asks for it', () => {
  const mark = { id: 'move', to: 'one/b', isDone: true, tables: 1, rows: 1 };
  expect(wordsOf('/data/ledger', mark)).toContain("`sluice move --undo --to 'ADDRESS'`");
});
