// Token of an edge as the setting has it, in its two parts.

import { createPublicKey, type KeyObject } from 'node:crypto';
import { PUBLIC_KEY_LENGTH } from '../contract/edge-signature.ts';

/** Token as `EDGE_TOKEN` has it: what the edge shows, and the key of the service's signatures. */
export type EdgeCredential = { readonly secret: string; readonly publicKey: KeyObject };

/** Beginning of an Ed25519 public key in SPKI (RFC 8410), before its 32 bytes. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Reads a token of the form `SECRET.KEY`; undefined when it has another form. */
export function readCredential(token: string): EdgeCredential | undefined {
  const [secret = '', key = '', ...rest] = token.split('.');
  if (rest.length > 0 || !/^sluice-edge_[\w-]+$/.test(secret)) return undefined;
  const raw = Buffer.from(key, 'base64url');
  if (key.length !== PUBLIC_KEY_LENGTH || raw.length !== 32) return undefined;
  const spki = Buffer.concat([SPKI_HEAD, raw]);
  return { secret, publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }) };
}
