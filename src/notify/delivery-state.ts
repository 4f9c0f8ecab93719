// Decides what follows a try of a delivery: it is done, is tried again, or its destination is disabled. Pure.

/** What a receiver did with a message. */
export type TryOutcome =
  | { readonly kind: 'delivered'; readonly status: number | null }
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      /** What went wrong, in words. */
      readonly error: string;
      /** Milliseconds that the receiver asks the service to wait; undefined if it does not ask. */
      readonly retryAfterMs?: number | undefined;
      /** Whether the receiver says that it is gone for good. */
      readonly isGone?: boolean;
    };

/** State of a delivery and its destination before a try. */
export type DeliveryProgress = {
  /** Number of failed tries since the delivery was created, or sent again by a person. */
  readonly failures: number;
  /** Milliseconds since the destination's first failure after its last success; null if there is none. */
  readonly failingMs: number | null;
};

export type AfterTry =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'disable'; readonly why: string };

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Delays after the first failures, in order; after further ones, the last delay applies. */
const RETRY_MS = [
  ...[5 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS],
];
/** Maximum share of a delay added at random, so that deliveries which failed together are tried apart. */
const JITTER = 0.1;
const RETRY_AFTER_MS_MAX = HOUR_MS;
/** Time without a success after which a destination is disabled. */
const FAILING_MS_MAX = 5 * 24 * HOUR_MS;

/** Returns the delay in milliseconds after the given number of failures, at least 1. `random`: 0 to 1. */
export function retryMs(failures: number, random: number): number {
  const delay = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] ?? 0;
  return Math.round(delay * (1 + JITTER * random));
}

/** Decides what follows from a try. `random`: 0 to 1. */
export function afterTry(
  { failures, failingMs }: DeliveryProgress,
  outcome: TryOutcome,
  random: number,
): AfterTry {
  if (outcome.kind === 'delivered') return { kind: 'delivered' };
  if (outcome.isGone) return { kind: 'disable', why: outcome.error };
  if (failingMs !== null && failingMs >= FAILING_MS_MAX) {
    return { kind: 'disable', why: `Nothing could be delivered for five days: ${outcome.error}` };
  }
  const asked = Math.min(outcome.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  return { kind: 'retry', inMs: Math.max(retryMs(failures + 1, random), asked) };
}
