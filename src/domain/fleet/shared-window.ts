// The rate window of one busy device that several processes share, and the rule that decides a request which
// a process may not decide alone. Every engine keeps such a window per busy device and follows this rule.
//
// Guarantee: any 60 seconds hold at most 120 + (n - 1) x 12 allowed requests of a device over n processes,
// however late the store answers. Proof: a process lets a request through on its own ("free") only while the
// device is quiet there, so at most 12 in a window. Once it asks, the device is busy there: it tells all its
// free ones, and has no more for as long as anything it told or was allowed is in the window. Look at any
// window, and the last request r in it that the store allowed; p asked for it. Before r the store knew of at
// most 119, and p told at most 12 with r.
// - Some of the 119 in the window are another process's: it has no free ones that it has not told. That
//   leaves n - 2 with 12 each: 119 + 12 + 1 + (n - 2) x 12.
// - All of them are p's: then p had told its free ones before, and tells none with r: 119 + 1 + (n - 1) x 12.
// - There are none: 12 + 1 + (n - 1) x 12. With no such r, all in the window are free: n x 12.
//
// A device that waits for its `Retry-After` is served, whichever process it asks, because the requests that a
// process owes are added after the decision. Both guarantees hold while the store answers and the tables have
// room. A process that gets no answer counts alone, exactly, and reports its requests later.

/** Time of each counted request by its name, in milliseconds of one clock. */
export type SharedWindow = Map<string, number>;

/** Requests of a device that a process let through without asking, and the request it asks about now. */
export type DeviceDebt = {
  /** Both hashes of the device (`hashText` and `secondHash`) as text. */
  readonly device: string;
  /** Name of the process, unique among running processes, without spaces. */
  readonly process: string;
  /** Name of the request to decide, unique per process and device while it counts, without spaces. */
  readonly requestId: string;
  /** Requests that were let through without asking: their names, formed like `requestId`, and their ages. */
  readonly owed: readonly { readonly id: string; readonly ageMs: number }[];
};

/**
 * Decides the request and records it when allowed; records the owed requests in either case. Returns 0 when
 * the request is allowed, else the milliseconds until one would be. A request that is reported twice counts
 * once.
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
