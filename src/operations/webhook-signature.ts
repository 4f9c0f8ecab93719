// The signature of a delivery: HMAC-SHA-256 over its bytes as they arrived. The older `X-Hub-Signature`
// (SHA-1) proves nothing and is not looked at.

import { createHmac, timingSafeEqual } from 'node:crypto';

const FORM = /^sha256=([0-9a-f]{64})$/i;

/** The digest of an `X-Hub-Signature-256` header, or undefined when it has not the form of one. */
export function readWebhookSignature(header: string | undefined): Buffer | undefined {
  const digest = FORM.exec(header ?? '')?.[1];
  return digest === undefined ? undefined : Buffer.from(digest, 'hex');
}

/** Whether these bytes were signed with this secret; takes the same time wherever the digests differ. */
export function isSignedWith(secret: string, body: Buffer, signature: Buffer): boolean {
  const digest = createHmac('sha256', secret).update(body).digest();
  return digest.length === signature.length && timingSafeEqual(digest, signature);
}
