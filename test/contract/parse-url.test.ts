// Addresses are read alike, however often one has been read before.

import { expect, it } from 'vitest';
import { parseUrl } from '../../src/contract/address.ts';

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
