// Encryption of secrets at rest with a key outside the database, so that a copy of the database reveals none
// of them. AES-256-GCM with the owner of the secret as associated data: a secret copied to another row cannot
// be decrypted. During a change of keys there are several: the first one encrypts, all of them decrypt.

import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
  scrypt,
  scryptSync,
} from 'node:crypto';

/** A decrypted secret. */
export type OpenedSecret = {
  readonly secret: string;
  /** Whether it was encrypted under the first key. */
  readonly isUnderFirst: boolean;
};

/** Version of the format, at the beginning of every encrypted text. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Salt of the key derivation. A constant that separates this use of SECRET_KEY from others; SECRET_KEY itself
 * must be strong.
 */
const SALT = 'sluice secret box v1';

export class SecretBox {
  /** Encryption keys by the value of SECRET_KEY that each is derived from, in the order of the setting. */
  #keys: ReadonlyMap<string, Buffer>;
  /** Derived keys by their purpose, cached because each answer to an edge needs some. */
  readonly #derived = new Map<string, readonly Buffer[]>();

  /**
   * `secretKeys` are the values of the setting SECRET_KEY, at least one. Operators may choose phrases, so
   * keys are derived with scrypt (about 50 ms each). All nodes that share a database need the same values.
   */
  constructor(secretKeys: readonly string[]) {
    this.#keys = new Map(secretKeys.map((key) => [key, scryptSync(key, SALT, KEY_BYTES)]));
  }

  /** Replaces the keys, which it derives off the main thread; resolves when the new ones are in use. */
  async use(secretKeys: readonly string[]): Promise<void> {
    const derived = secretKeys.map(
      async (key) => [key, this.#keys.get(key) ?? (await deriveKey(key))] as const,
    );
    this.#keys = new Map(await Promise.all(derived));
    this.#derived.clear();
  }

  /** Encrypts a secret of `owner` to `v1.<nonce>.<ciphertext>.<tag>`, in base64url, under the first key. */
  seal(secret: string, owner: string): string {
    const [key] = this.#keys.values();
    if (key === undefined) throw new Error('There is no key to seal with');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(`${VERSION}:${owner}`));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return [VERSION, ...[nonce, sealed, cipher.getAuthTag()].map(encode)].join('.');
  }

  /**
   * Derives from each key one of 32 bytes for another purpose (HKDF, RFC 5869), in the order of the setting.
   * A derived key reveals neither another key nor an encrypted secret. Returns the same array until the
   * setting changes; `purpose` is a constant of the caller.
   */
  deriveKeys(purpose: string): readonly Buffer[] {
    const known = this.#derived.get(purpose);
    if (known !== undefined) return known;
    const derived = [...this.#keys.values()].map((key) =>
      Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)),
    );
    this.#derived.set(purpose, derived);
    return derived;
  }

  /** Decrypts a secret; undefined if no key fits, it belongs to another owner, or was modified. */
  open(sealed: string, owner: string): OpenedSecret | undefined {
    let isUnderFirst = true;
    for (const key of this.#keys.values()) {
      const secret = openWith(key, sealed, owner);
      if (secret !== undefined) return { secret, isUnderFirst };
      isUnderFirst = false;
    }
    return undefined;
  }
}

function openWith(key: Buffer, sealed: string, owner: string): string | undefined {
  const [version, nonce, text, tag] = sealed.split('.');
  if (version !== VERSION || nonce === undefined || text === undefined || tag === undefined) {
    return undefined;
  }
  try {
    const decipher = createDecipheriv(CIPHER, key, decode(nonce), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(`${VERSION}:${owner}`));
    decipher.setAuthTag(decode(tag));
    return Buffer.concat([decipher.update(decode(text)), decipher.final()]).toString('utf8');
  } catch {
    // A wrong tag and a malformed nonce mean the same: this key did not seal the text.
    return undefined;
  }
}

function deriveKey(secretKey: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secretKey, SALT, KEY_BYTES, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function decode(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
