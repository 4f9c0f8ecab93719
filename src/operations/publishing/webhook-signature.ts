// Verification of a webhook delivery's signature: HMAC-SHA-256 over its bytes as they arrived. The older
// `X-Hub-Signature` with SHA-1 is ignored, because SHA-1 is broken.

import { createHmac, timingSafeEqual } from 'node:crypto';

const FORM = /^sha256=([0-9a-f]{64})$/i;

/** Parses the digest of an `X-Hub-Signature-256` header; returns undefined when the header is malformed. */
export function readWebhookSignature(header: string | undefined): Buffer | undefined {
  const digest = FORM.exec(header ?? '')?.[1];
  return digest === undefined ? undefined : Buffer.from(digest, 'hex');
}

/** Returns whether these bytes were signed with this secret, by a comparison in constant time. */
export function isSignedWith(secret: string, body: Buffer, signature: Buffer): boolean {
  const digest = createHmac('sha256', secret).update(body).digest();
  return digest.length === signature.length && timingSafeEqual(digest, signature);
}
