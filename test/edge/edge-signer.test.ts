// Tests that edges can tell what their service signed (§29.3).

import { createPublicKey, verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { PUBLIC_KEY_LENGTH, signedHead } from '../../src/contract/edge.ts';
import { EdgeSigner } from '../../src/edge/server/edge-tokens.ts';
import { SecretBox } from '../../src/notify/secret-box.ts';

const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const BODY = Buffer.from('{"kind":"index"}');
const NONCE = '0123456789abcdef';

function isSignedBy(
  publicKey: string,
  body: Buffer,
  signature: string,
  nonce = NONCE,
  status = 200,
): boolean {
  const spki = Buffer.concat([SPKI_HEAD, Buffer.from(publicKey, 'base64url')]);
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), body]);
  return verify(null, signed, key, Buffer.from(signature, 'base64url'));
}

it('the key of a token verifies what was signed, and nothing else', () => {
  const signer = new EdgeSigner(new SecretBox(['a secret']));
  expect(signer.publicKey).toHaveLength(PUBLIC_KEY_LENGTH);
  const signature = signer.sign(NONCE, 200, BODY);
  expect(isSignedBy(signer.publicKey, BODY, signature)).toBe(true);
  expect(isSignedBy(signer.publicKey, Buffer.from('{"kind":"Index"}'), signature)).toBe(false);
  expect(isSignedBy(signer.publicKey, BODY, signature, 'fedcba9876543210')).toBe(false);
  expect(isSignedBy(signer.publicKey, BODY, signature, NONCE, 304)).toBe(false);
});

it('every node with the same SECRET_KEY has the same key, and no other has it', () => {
  const keyOf = (secret: string) => new EdgeSigner(new SecretBox([secret])).publicKey;
  expect(keyOf('a secret')).toBe(keyOf('a secret'));
  expect(keyOf('a secret')).not.toBe(keyOf('another secret'));
});

it('while SECRET_KEY has two values, edges that know either of them believe', async () => {
  const box = new SecretBox(['old']);
  const signer = new EdgeSigner(box);
  const old = signer.publicKey;
  await box.use(['new', 'old']);
  const [first = '', second = ''] = signer.sign(NONCE, 200, BODY).split(',');
  expect(signer.publicKey).not.toBe(old);
  expect(isSignedBy(signer.publicKey, BODY, first)).toBe(true);
  expect(isSignedBy(old, BODY, second)).toBe(true);
});
