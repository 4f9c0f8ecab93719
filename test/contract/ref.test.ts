// Tests which texts are refs of apps: what an address may have, and no id of an app.

import { expect, it } from 'vitest';
import { isFreeRef } from '../../src/contract/ref.ts';

it.each(['a', 'A.b_c-9', '9lives', 'x'.repeat(64), 'app_1'])('a ref may be %s', (text) => {
  expect(isFreeRef(text)).toBe(true);
});

it.each([
  ...['', '-a', '.a', '_a', 'a b', 'a/b', 'ä', 'a%20', 'a\n', 'x'.repeat(65)],
  `app_${'0'.repeat(26)}`,
])('a ref cannot be %j', (text) => {
  expect(isFreeRef(text)).toBe(false);
});
