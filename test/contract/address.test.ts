// Tests addresses: that they are read alike however often, which of them code hosts may reach, how they name
// several hosts, and how they are written for clients.

import { expect, it } from 'vitest';
import {
  isReachableAddress,
  parseUrl,
  splitHosts,
  wireAddress,
} from '../../src/contract/address.ts';
import { rowsOf } from '../support/rows-of.ts';

/** V8 optimizes a function after some thousand calls. */
const CALLS = 50_000;

it.each(['https://exämple.com/ü', 'https://example.com/übersicht?q=ß#é', 'https://例え.jp/ü'])(
  '%s is an address the first time and when the code is optimized',
  (text) => {
    const { href } = new URL(text);
    let read = 0;
    for (let call = 0; call < CALLS; call++) if (parseUrl(text)?.href === href) read += 1;
    expect(read).toBe(CALLS);
  },
);

it.each(['', 'example.com', '/path', 'https://', 'https://a b/', 'http://a:99999/'])(
  '%j is none',
  (text) => {
    expect(parseUrl(text)).toBeUndefined();
  },
);

it.each(
  rowsOf(`
  true: https://updates.example.com/wh/github/app_1 | https://203.0.113.7/wh | http://172.32.0.5/wh
  true: http://100.128.0.1/wh | http://[2001:db8::1]/wh | https://localhost.example.com/wh
  true: https://10.example.com/wh
  false: http://127.0.0.1:8080/wh | http://localhost:8080/wh | http://[::1]:8080/wh | no address
  false: http://10.1.2.3/wh | http://172.20.0.5/wh | http://192.168.1.4/wh | http://0.0.0.0:8080/wh
  false: http://127.1/wh | http://100.64.0.1/wh | http://169.254.1.1/wh | http://[fd00::1]/wh
  false: http://[::ffff:10.0.0.1]/wh | https://sluice/wh | https://sluice.local./wh
  false: https://updates.LAN/wh | https://updates.svc.cluster.local/wh
  `),
)('%s can be reached from elsewhere: %s', (url, isReachable) => {
  expect(String(isReachableAddress(url))).toBe(isReachable);
});

it.each([
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

it.each([
  ['https://dl.example.com/a?x=1&y=%20#z', 'https://dl.example.com/a?x=1&y=%20#z'],
  ['HTTPS://DL.example.com', 'HTTPS://DL.example.com'],
  ['https://münchen.example:81/Größe', 'https://xn--mnchen-3ya.example:81/Gr%C3%B6%C3%9Fe'],
  ['https://a.example/"<>^`{|}', 'https://a.example/%22%3C%3E%5E%60%7B%7C%7D'],
  ['https://a.example/\u202eexe?q=\\', 'https://a.example/%E2%80%AEexe?q=%5C'],
])('%s is written as %s', (given, written) => {
  expect(wireAddress(given)).toBe(written);
});
