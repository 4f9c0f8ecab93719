// Key, stored in the ledger, with which all nodes sign values that browsers send back, such as cookies.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Ledger } from '../store/ledger.ts';

const KEY_BYTES = 32;

export class SigningKey {
  private key: Promise<string> | undefined;

  constructor(
    private readonly ledger: Pick<Ledger, 'readSigningKey'>,
    private readonly name: string,
  ) {}

  /** Signs the parts, in their order. */
  async sign(parts: readonly unknown[]): Promise<Buffer> {
    return createHmac('sha256', await this.read())
      .update(JSON.stringify(parts))
      .digest();
  }

  /** Returns whether a text (base64url) is the signature of the parts, in constant time. */
  async isOf(parts: readonly unknown[], signature: string): Promise<boolean> {
    const expected = await this.sign(parts);
    const given = Buffer.from(signature, 'base64url');
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** Reads the key once; the next call repeats a failed read. */
  private read(): Promise<string> {
    const draft = randomBytes(KEY_BYTES).toString('base64url');
    this.key ??= this.ledger.readSigningKey(this.name, draft).catch((error: unknown) => {
      this.key = undefined;
      throw error;
    });
    return this.key;
  }
}
