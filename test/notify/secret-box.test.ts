// Tests secrets at rest: a sealed secret opens with its key, for its owner, unchanged, and otherwise not at
// all.

import { describe, expect, it } from 'vitest';
import { SecretBox } from '../../src/notify/secret-box.ts';

const box = new SecretBox(['a key']);
const SECRET = 'It’s a secret';
const OPENED = { secret: SECRET, isUnderFirst: true };

describe('SecretBox', () => {
  it('opens with its key, in any process, with no other key, and for no other owner', () => {
    const sealed = box.seal(SECRET, 'app_1');
    for (const same of [box, new SecretBox(['a key'])]) {
      expect(same.open(sealed, 'app_1')).toEqual(OPENED);
    }
    expect(new SecretBox(['another key']).open(sealed, 'app_1')).toBeUndefined();
    expect(box.open(sealed, 'app_2')).toBeUndefined();
    // It shows nothing of the secret, and differs each time.
    expect(sealed).toMatch(/^v1\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
    const parts = sealed.split('.').map((part) => Buffer.from(part, 'base64url').toString());
    expect(parts.join()).not.toContain('secret');
    expect(box.seal(SECRET, 'app_1')).not.toBe(sealed);
  });

  it('does not open once any part was changed or its tag shortened, nor what was never sealed', () => {
    const parts = box.seal(SECRET, 'app_1').split('.');
    const flipped = parts.map((part, index) =>
      parts.with(index, (part.startsWith('A') ? 'B' : 'A') + part.slice(1)),
    );
    const shortened = [0, 6, 11, 16].map((length) =>
      parts.with(3, parts[3]?.slice(0, length) ?? ''),
    );
    const changed = [...flipped, ...shortened].map((each) => each.join('.'));
    const never = ['', 'v1', 'v1...', 'v1.a.b.c', 'v2.a.b.c', 'plain text', 'v1.!.!.!'];
    for (const text of [...changed, ...never]) {
      expect(box.open(text, 'app_1'), text).toBeUndefined();
    }
  });

  it('of several keys the first seals, and all open', async () => {
    const both = new SecretBox(['another key', 'a key']);
    const bySecond = box.seal(SECRET, 'app_1');
    expect(both.open(bySecond, 'app_1')).toEqual({ secret: SECRET, isUnderFirst: false });
    const byFirst = both.seal(SECRET, 'app_1');
    expect(both.open(byFirst, 'app_1')).toEqual(OPENED);
    expect(box.open(byFirst, 'app_1')).toBeUndefined();
    expect(new SecretBox(['another key']).open(byFirst, 'app_1')).toEqual(OPENED);
  });

  it('other keys count once they are derived; until then the ones before do', async () => {
    const changing = new SecretBox(['a key']);
    const sealed = changing.seal(SECRET, 'app_1');
    const changed = changing.use(['another key']);
    expect(changing.open(sealed, 'app_1')).toEqual(OPENED);
    await changed;
    expect(changing.open(sealed, 'app_1')).toBeUndefined();
    await changing.use(['another key', 'a key']);
    expect(changing.open(sealed, 'app_1')).toEqual({ secret: SECRET, isUnderFirst: false });
  });
});
