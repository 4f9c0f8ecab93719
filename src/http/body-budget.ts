// Budget of memory for request bodies that have not arrived whole. A body arrives before its sender is
// known, so whoever can reach the service can make it hold some. Senders that may be strangers to the end
// (webhooks: a delivery is verified over its whole body) have a budget of their own.

import { LIMIT } from '../contract/limit.ts';

/** Maximum number of bytes that bodies of calls with a credential in their head hold together. */
const CREDENTIALED_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum number of bytes that bodies hold together whose sender is known at their end only. */
const UNVERIFIED_BYTES_MAX = 128 * 1024 * 1024;

export class BodyBudget {
  private readonly bytesMax: number;
  private held = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /**
   * Takes `chunkBytes` for a body that has `bodyBytes` with them; false when they would exceed the budget.
   * Bodies above `LIMIT.bodyBytesMax` have half of it, so that their senders leave room for all others.
   */
  hold(bodyBytes: number, chunkBytes: number): boolean {
    const bytesMax = bodyBytes > LIMIT.bodyBytesMax ? this.bytesMax / 2 : this.bytesMax;
    if (this.held + chunkBytes > bytesMax) return false;
    this.held += chunkBytes;
    return true;
  }

  /** Gives back what was taken. */
  release(bytes: number): void {
    this.held -= bytes;
  }
}

/** Budgets of this process; a route names one of them. */
export const BODY_BUDGETS = {
  credentialed: new BodyBudget(CREDENTIALED_BYTES_MAX),
  unverified: new BodyBudget(UNVERIFIED_BYTES_MAX),
} as const;
