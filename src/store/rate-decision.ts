// Answer of a rate window.

/** Answer of a rate window to a request: whether it is allowed, and else when one would be. */
export type RateDecision = {
  readonly isAllowed: boolean;
  /** Milliseconds until a request would be allowed; 0 when this one was. */
  readonly waitMs: number;
};

/** Answer that also says how full the window is. */
export type CountedRequest = RateDecision & {
  /** Number of requests that would be allowed now, after this one. */
  readonly remaining: number;
  /** Milliseconds until the window has room for one more; `waitMs` when this request was not allowed. */
  readonly leaveMs: number;
};
