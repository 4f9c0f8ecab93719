// Signatures of outgoing webhooks by Standard Webhooks, version 1, for which receivers find libraries.

import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
/** Length of a secret; Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

/** Signed parts of a message: id of the event, time of this try in seconds since 1970, and body. */
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
 * Returns the headers that sign a message, with one signature for each secret: during a rotation there are
 * two, and receivers accept either.
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
