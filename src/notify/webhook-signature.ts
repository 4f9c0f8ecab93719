// Signatures of outgoing webhooks by the scheme of Standard Webhooks, version 1: receivers check them with
// the libraries of that scheme.

import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** What is signed: the id of the event, the seconds since 1970 of this try, and the bytes of the body. */
export type SignedMessage = {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
};

/** Creates a secret for a destination, as its receiver stores it. */
export function createWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * Returns the headers that sign a message: with two secrets, while one replaces the other, both sign, and
 * receivers accept either.
 */
export function signatureHeaders(
  message: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signed = `${message.id}.${message.timestampSeconds}.${message.body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
