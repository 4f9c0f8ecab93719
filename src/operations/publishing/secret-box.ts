// Encryption of secrets at rest with a key that is not in the database, so that a copy of the database
// reveals none of them. AES-256-GCM, with the owner of the secret as associated data: a secret that is moved
// to another row cannot be decrypted.

import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

/** Version of the sealed format, at the beginning of every sealed text. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Salt of the key derivation, a constant: it separates this use of SECRET_KEY from others; SECRET_KEY itself
 * must be strong.
 */
const SALT = 'sluice secret box v1';

export class SecretBox {
  readonly #key: Buffer;

  /**
   * `secretKey` is the setting SECRET_KEY. It should be random, but operators may type phrases, so the key is
   * derived with scrypt (about 50 ms, once). All nodes that share a database need the same SECRET_KEY.
   */
  constructor(secretKey: string) {
    this.#key = scryptSync(secretKey, SALT, KEY_BYTES);
  }

  /** Encrypts a secret of `owner` to `v1.<nonce>.<ciphertext>.<tag>`, in base64url. */
  seal(secret: string, owner: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(`${VERSION}:${owner}`));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return [VERSION, ...[nonce, sealed, cipher.getAuthTag()].map(encode)].join('.');
  }

  /**
   * Decrypts a secret; returns undefined when it was sealed with another key, for another owner, or was
   * modified.
   */
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
      // A wrong tag and a malformed nonce mean the same: the text was not sealed by this box.
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
