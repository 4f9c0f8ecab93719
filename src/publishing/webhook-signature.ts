// Verification of a webhook delivery's signature, an HMAC-SHA-256. The older `X-Hub-Signature` with SHA-1 is
// ignored, because SHA-1 is broken.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookProvider } from '../contract/webhook-provider.ts';

/** GitHub's header names the algorithm before the digest; Gitea's and Forgejo's have the digest alone. */
const FORMS: Readonly<Record<WebhookProvider, RegExp>> = {
  github: /^sha256=([0-9a-f]{64})$/i,
  gitea: /^([0-9a-f]{64})$/i,
  forgejo: /^([0-9a-f]{64})$/i,
};

/** Parses the digest of a code host's header; returns undefined when the header is malformed. */
export function readWebhookSignature(
  provider: WebhookProvider,
  header: string | undefined,
): Buffer | undefined {
  const digest = FORMS[provider].exec(header ?? '')?.[1];
  return digest === undefined ? undefined : Buffer.from(digest, 'hex');
}

/** Returns whether these bytes were signed with this secret, by a comparison in constant time. */
export function isSignedWith(secret: string, signed: Buffer, signature: Buffer): boolean {
  const digest = createHmac('sha256', secret).update(signed).digest();
  return digest.length === signature.length && timingSafeEqual(digest, signature);
}
