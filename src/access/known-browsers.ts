// Cookies of browsers that have signed in to an account before (OWASP: device cookies). Tries of such a
// browser count in a budget of its own, so that strangers who try the account's password, from however many
// addresses, cannot keep its owner out. The cookie is signed with a key from the ledger: it holds on every
// node, and after a restart. It opens nothing by itself; the password is asked for as ever.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Ledger } from '../store/ledger.ts';

/** Browser that has signed in to the account before, with the password of this number. */
export type KnownBrowser = { readonly id: string; readonly passwordNumber: number };

const KEY_NAME = 'known-browser';
const KEY_BYTES = 32;
const ID_BYTES = 16;
const FORM = /^v1\.(\d{1,9})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export class KnownBrowsers {
  private readonly ledger: Pick<Ledger, 'readSigningKey'>;
  private key: Promise<string> | undefined;

  constructor(ledger: Pick<Ledger, 'readSigningKey'>) {
    this.ledger = ledger;
  }

  /** Returns the cookie of a browser that has just signed in; each has an id of its own. */
  async issue(email: string, passwordNumber: number): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const signature = sign(await this.readKey(), email, passwordNumber, id);
    return ['v1', passwordNumber, id, signature.toString('base64url')].join('.');
  }

  /**
   * Returns the browser of a cookie that was issued for this account; undefined for any other text. Whether
   * the account still has the password of that number is for the caller to compare.
   */
  async recognise(cookie: string | undefined, email: string): Promise<KnownBrowser | undefined> {
    const [, number = '', id = '', signature = ''] = FORM.exec(cookie ?? '') ?? [];
    if (signature === '') return undefined;
    const passwordNumber = Number(number);
    const expected = sign(await this.readKey(), email, passwordNumber, id);
    const given = Buffer.from(signature, 'base64url');
    const isRight = given.length === expected.length && timingSafeEqual(given, expected);
    return isRight ? { id, passwordNumber } : undefined;
  }

  /** Reads the key once; a read that failed is repeated by the next call. */
  private readKey(): Promise<string> {
    const draft = randomBytes(KEY_BYTES).toString('base64url');
    this.key ??= this.ledger.readSigningKey(KEY_NAME, draft).catch((error: unknown) => {
      this.key = undefined;
      throw error;
    });
    return this.key;
  }
}

function sign(key: string, email: string, passwordNumber: number, id: string): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([email, passwordNumber, id]))
    .digest();
}
