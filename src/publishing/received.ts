// What the sender of an event is told has become of it.

import type { Release } from '../contract/resource.ts';

export type Received = {
  readonly outcome: 'created' | 'duplicate' | 'ignored';
  readonly reason?: string;
  readonly release?: Release;
};

export function ignored(reason: string): Received {
  return { outcome: 'ignored', reason };
}

/** Adds a sentence behind what is said already. */
export function withReason(received: Received, reason: string): Received {
  const reasons = received.reason === undefined ? [reason] : [received.reason, reason];
  return { ...received, reason: reasons.join('. ') };
}
