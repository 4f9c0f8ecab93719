// Tests the signature of a delivery against GitHub's published example and GitHub's client library.

import { sign } from '@octokit/webhooks-methods';
import { describe, expect, it } from 'vitest';
import { isSignedWith, readWebhookSignature } from '../../src/publishing/webhooks.ts';

const SECRET = "It's a Secret to Everybody";
const BODY = Buffer.from('Hello, World!');
const DIGEST = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';

function isValid(secret: string, body: Buffer, header: string | undefined): boolean {
  const signature = readWebhookSignature('github', header);
  return signature !== undefined && isSignedWith(secret, body, signature);
}

describe('the signature of a delivery', () => {
  it("accepts GitHub's own example", () => {
    expect(isValid(SECRET, BODY, `sha256=${DIGEST}`)).toBe(true);
  });

  it('accepts what the client library signs, over the bytes of any text', async () => {
    const text = '{"body":"Größe ✓ \\u00e9"}';
    expect(isValid(SECRET, Buffer.from(text), await sign(SECRET, text))).toBe(true);
  });

  it('refuses another secret, another body, and one bit more or less', () => {
    const header = `sha256=${DIGEST}`;
    expect(isValid('other', BODY, header)).toBe(false);
    expect(isValid(SECRET, Buffer.from('Hello, World?'), header)).toBe(false);
    expect(isValid(SECRET, BODY, header.replace(/7$/, '6'))).toBe(false);
  });

  it.each([
    undefined,
    '',
    DIGEST,
    `sha1=${DIGEST.slice(0, 40)}`,
    `sha256=${DIGEST.slice(1)}`,
    `sha256=${DIGEST}0`,
    `sha256=${DIGEST.slice(1)}g`,
    `sha256= ${DIGEST}`,
    `sha256=${DIGEST},sha256=${DIGEST}`,
    'sha256=',
  ])('what has not the form of a signature is none: %s', (header) => {
    expect(readWebhookSignature('github', header)).toBeUndefined();
  });
});
