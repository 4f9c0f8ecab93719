// Tests the reader of addresses that name several hosts.

import { expect, test } from 'vitest';
import { splitHosts } from '../../src/contract/address.ts';

test.each([
  ['postgres://h1:1,h2:2/db', ['postgres://h1:1/db', 'postgres://h2:2/db']],
  ['postgres://h1, h2/db?a=b,c', ['postgres://h1/db?a=b,c', 'postgres://h2/db?a=b,c']],
  ['x+y://u:p@h1,[::1]:2', ['x+y://u:p@h1', 'x+y://u:p@[::1]:2']],
  // A comma and an at sign in a password: the last at sign ends the login.
  ['postgres://u:p,@q@h1,h2/db', ['postgres://u:p,@q@h1/db', 'postgres://u:p,@q@h2/db']],
  ['postgres://u:p,q@h1/db', ['postgres://u:p,q@h1/db']],
  ['postgres://h1,,h2', ['postgres://h1', 'postgres://', 'postgres://h2']],
  ['postgres://h1/db?hosts=a,b', ['postgres://h1/db?hosts=a,b']],
  ['postgres:///db', ['postgres:///db']],
  ['nothing, of the kind', ['nothing, of the kind']],
  ['', ['']],
])('%j names %j', (address, addresses) => {
  expect(splitHosts(address)).toEqual(addresses);
});
