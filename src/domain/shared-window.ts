// What processes agree on about one busy device: the rule by which a request is decided that a process may
// not decide alone. Engines keep such a window for each device and follow this rule.
//
// Guarantee: any 60 seconds hold at most 120 + (n - 1) x 12 allowed requests of a device over n processes,
// however late the store answers. Proof: a process lets a request through on its own ("free") only while the
// device is quiet there, so at most 12 in a window. Once it asks, the device is busy there, and every
// request is asked about until two windows after the last answer. Look at the last request r in the window
// that the store allowed. The process that asked for r has told all its free ones with r or before, and has
// no new ones until after the window. The store knew of at most 120 at r, itself included; each of the
// n - 1 others has at most 12 that it was not told of. When r used a promise (see `settleDebt`) the store may
// know of 12 more, told with r; but then the process that was refused, another one, has told everything at
// the refusal and has had no free ones since, so it drops out of the n - 1. With no such r all are free: n x 12.
//
// And a device that waits as long as told is served, by whichever process. Both hold while the store answers
// and the tables have room; a process without an answer counts alone, exactly, and tells afterwards.

/** One device's window. Times are milliseconds of one clock that never goes back. */
export type SharedWindow = {
  /** When each request that counts was let through; a name counts once, however often it is told. */
  readonly allowedAt: Map<string, number>;
  /** When a request was last refused, while that still promises something. */
  refusedAtMs: number | undefined;
};

/** What a process owes for a device, and the request it asks about. */
export type DeviceDebt = {
  /** Both hashes of the device, as text. */
  readonly device: string;
  /** The process; no two that run have the same. No spaces. */
  readonly process: string;
  /** The request to decide, named uniquely within process and device while it counts. No spaces. */
  readonly requestId: string;
  /** Requests that were let through without asking: names like `requestId`, and their ages. */
  readonly owed: readonly { readonly id: string; readonly ageMs: number }[];
};

/** Milliseconds until a request would be allowed; 0 when this one was. */
export type SettledWaitMs = number;

export function emptyWindow(): SharedWindow {
  return { allowedAt: new Map(), refusedAtMs: undefined };
}

/**
 * Adds what is owed, then allows the request if it is within the limit; a refused one leaves no trace but
 * the promise that after the wait it will be served. The promise is kept even when by then another process
 * owes requests of before: for a window after a refusal, a place that was free before the debt was added
 * suffices. It is used once.
 */
export function settleDebt(
  window: SharedWindow,
  debt: DeviceDebt,
  limit: number,
  windowMs: number,
  now: number,
): SettledWaitMs {
  const { allowedAt } = window;
  for (const [id, at] of allowedAt) if (at <= now - windowMs) allowedAt.delete(id);
  const isPromised = window.refusedAtMs !== undefined && window.refusedAtMs > now - windowMs;
  const countBefore = allowedAt.size;
  for (const { id, ageMs } of debt.owed) {
    const name = `${debt.process}:${id}`;
    if (ageMs < windowMs && !allowedAt.has(name)) allowedAt.set(name, now - ageMs);
  }
  const isAllowed = allowedAt.size < limit || (isPromised && countBefore < limit);
  if (!isAllowed) {
    window.refusedAtMs = now;
    const times = [...allowedAt.values()].sort((a, b) => a - b);
    return Math.max(1, Math.ceil((times[times.length - limit] as number) + windowMs - now));
  }
  window.refusedAtMs = undefined;
  const name = `${debt.process}:${debt.requestId}`;
  if (!allowedAt.has(name)) allowedAt.set(name, now);
  return 0;
}
