// Tests which channels without approvals are named beside those that ask for them (docs/contract.md 33.12).

import { expect, test } from 'vitest';
import type { ApprovalMode } from '../../../src/contract/resource.ts';
import { openDoors } from '../../../src/domain/release/open-doors.ts';

const channel = (name: string, approvals: ApprovalMode, follows: string | null = null) => ({
  ...{ name, approvals, follows },
});
const STABLE = channel('stable', 'one', 'beta');
const BETA = channel('beta', 'none');

test('a channel that follows one without approvals is warned of it', () => {
  const other = channel('nightly', 'none');
  expect(openDoors(STABLE, [BETA, other])).toEqual([
    {
      ...{ path: 'follows', severity: 'warning' },
      message:
        'beta asks for no approvals: what one person publishes there reaches the devices of stable',
    },
  ]);
});

test('a channel without approvals is warned of each that asks for them and follows it', () => {
  const other = channel('canary', 'one', 'beta');
  const messages = openDoors(BETA, [STABLE, other]).map(({ path, message }) => [path, message]);
  const end =
    'asks for approvals and follows beta: what one person publishes here reaches its devices';
  expect(messages).toEqual([
    ['approvals', `stable ${end}`],
    ['approvals', `canary ${end}`],
  ]);
});

test.each([
  ['both ask', STABLE, channel('beta', 'one')],
  ['neither asks', channel('stable', 'none', 'beta'), BETA],
  ['neither follows the other', channel('stable', 'one'), BETA],
  ['only the followed one asks', channel('stable', 'none', 'beta'), channel('beta', 'one')],
])('nothing is warned of where %s', (_, one, other) => {
  expect([...openDoors(one, [other]), ...openDoors(other, [one])]).toEqual([]);
});
