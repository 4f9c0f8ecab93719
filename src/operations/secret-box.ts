// Secrets at rest: encrypted under a key that the database does not have, so that a copy of the database
// gives none of them away. AES-256-GCM; what a secret belongs to is bound to it, so that one that is moved to
// another row opens no more.

import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

/** Begins every sealed text; another way of sealing gets another one. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The same for everybody: it keeps keys of other programs apart, SECRET_KEY itself must be hard to guess. */
const SALT = 'sluice secret box v1';

export class SecretBox {
  readonly #key: Buffer;

  /**
   * `secretKey` is SECRET_KEY: a random one is best, but people type phrases, hence scrypt (about 50 ms,
   * once). Every node that shares a database must have the same.
   */
  constructor(secretKey: string) {
    this.#key = scryptSync(secretKey, SALT, KEY_BYTES);
  }

  /** `v1.<nonce>.<ciphertext>.<tag>`, base64url. `owner` says what the secret belongs to. */
  seal(secret: string, owner: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(`${VERSION}:${owner}`));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return [VERSION, ...[nonce, sealed, cipher.getAuthTag()].map(encode)].join('.');
  }

  /** The secret; undefined when it was sealed under another key, for another owner, or was changed. */
  open(sealed: string, owner: string): string | undefined {
    const [version, nonce, text, tag] = sealed.split('.');
    if (version !== VERSION || nonce === undefined || text === undefined || tag === undefined) {
      return undefined;
    }
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, decode(nonce), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(`${VERSION}:${owner}`));
      decipher.setAuthTag(decode(tag));
      return Buffer.concat([decipher.update(decode(text)), decipher.final()]).toString('utf8');
    } catch {
      // A tag that does not fit and a nonce that is none are the same news: not sealed by this box.
      return undefined;
    }
  }
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function decode(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
