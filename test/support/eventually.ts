// Waits in tests: for a time, or for a condition to become true.

/** Milliseconds between two looks: few at first, then more, for a look costs the machine that is awaited. */
const POLL_MS = { first: 10, growth: 1.5, max: 150 };

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Resolves once `check` holds; rejects, naming `what` was awaited, when it does not in time. The default is
 * long, for a busy machine; a test of how long something takes gives its own.
 */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = POLL_MS.first; !(await check()); ) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * POLL_MS.growth, POLL_MS.max);
  }
}
