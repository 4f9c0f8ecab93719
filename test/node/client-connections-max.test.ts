// Tests how many connections clients may have open, from what Linux says about the limits of a process.

import { expect, it } from 'vitest';
import { clientConnectionsMax } from '../../src/node/assemble/observe-requests.ts';

function limits(soft: string, hard = '1048576'): string {
  return [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             63432                63432                processes ',
    `Max open files            ${soft.padEnd(20)} ${hard.padEnd(20)} files     `,
    'Max locked memory         8388608              8388608              bytes     ',
  ].join('\n');
}

it.each([
  ['1048576', 1048448],
  ['1024', 896],
  ['256', 128],
  ['200', 100],
  ['64', 32],
])('of %s descriptors clients get all but a reserve, at least half: %i', (soft, expected) => {
  expect(clientConnectionsMax(limits(soft))).toBe(expected);
});

it.each([
  ['no limit', limits('unlimited', 'unlimited')],
  ['no such file, as elsewhere than on Linux', ''],
])('%s is no bound', (_what, text) => {
  expect(clientConnectionsMax(text)).toBeUndefined();
});

it('the limit of this process is read', () => {
  if (process.platform !== 'linux') return;
  expect(clientConnectionsMax()).toBeGreaterThan(0);
});
