// What processes agree on about one busy device: the rule by which a request is decided that a process may
// not decide alone. Engines keep such a window for each device and follow this rule; `DeviceWindows` says
// what follows from it.

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

/** One device's window. Times are milliseconds of one clock that never goes back. */
export type SharedWindow = {
  /** When each request that counts was let through; a name counts once, however often it is told. */
  readonly allowedAt: Map<string, number>;
  /** When a request was last refused, while that still promises something. */
  refusedAtMs: number | undefined;
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
