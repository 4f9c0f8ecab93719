// The rate window of one busy device that several processes share, and the rule for a request that a process
// may not decide alone. Every shared store keeps such a window per busy device and follows this rule.
//
// Guarantee: any 60 seconds hold at most 120 + (n - 1) x 12 allowed requests of a device over n processes,
// however late the store answers. Proof: a process allows a request on its own ("free") only while the device
// is quiet there, so at most 12 in a window. Once it asks the store, the device is busy there: it reports all
// its free requests, and has no more while anything it reported or was allowed is in the window. Take any
// window and the last request r in it that the store allowed, for process p. Before r the store knew of at
// most 119, and p reported at most 12 with r.
// - Some of the 119 in the window are another process's: it has no free ones that it has not reported. That
//   leaves n - 2 with 12 each: 119 + 12 + 1 + (n - 2) x 12.
// - All are p's: p had reported its free ones before, and reports none with r: 119 + 1 + (n - 1) x 12.
// - There are none: 12 + 1 + (n - 1) x 12. With no such r, all in the window are free: n x 12.
//
// A device that waits for its `Retry-After` is served by every process, because a process's owed requests are
// added after the decision. Both guarantees hold while the store answers and the tables have room. A process
// that gets no answer counts alone, exactly, and reports its requests later.

/** Time of each counted request by its name, in milliseconds of one clock. */
export type SharedWindow = Map<string, number>;

/** Requests of a device that a process allowed alone, and the request that the store must decide. */
export type DeviceDebt = {
  /** Both hashes of the device (`hashText` and `secondHash`) as text. */
  readonly device: string;
  /** Name of the process, unique among running processes, without spaces. */
  readonly process: string;
  /** Id of the request to decide, without spaces; unique per process and device while it counts. */
  readonly requestId: string;
  /** Requests that the process allowed alone: ids formed like `requestId`, and ages. */
  readonly owed: readonly { readonly id: string; readonly ageMs: number }[];
};

/**
 * Decides the request and records it if allowed; records the owed requests in either case. Returns 0 if the
 * request is allowed, else the milliseconds until one would be. A request reported twice counts once.
 */
export function settleDebt(
  window: SharedWindow,
  debt: DeviceDebt,
  limit: number,
  windowMs: number,
  now: number,
): number {
  // Differences of times only: the sum of a time and the window would be rounded.
  for (const [id, at] of window) if (now - at >= windowMs) window.delete(id);
  const isAllowed = window.size < limit;
  for (const { id, ageMs } of debt.owed) {
    const name = `${debt.process}:${id}`;
    if (ageMs < windowMs && !window.has(name)) window.set(name, now - ageMs);
  }
  if (!isAllowed) {
    const times = [...window.values()].sort((a, b) => a - b);
    return Math.max(1, Math.ceil(windowMs - (now - (times[times.length - limit] as number))));
  }
  const name = `${debt.process}:${debt.requestId}`;
  if (!window.has(name)) window.set(name, now);
  return 0;
}
