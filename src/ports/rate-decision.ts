// Answer of a rate window.

/** Answer of a rate window to a request: whether it is allowed, and else when one would be. */
export type RateDecision = {
  readonly isAllowed: boolean;
  /** Milliseconds until a request would be allowed; 0 when this one was. */
  readonly waitMs: number;
};
