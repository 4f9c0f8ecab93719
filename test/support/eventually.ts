// Waits in tests: for a time, or for a condition to become true.

const POLL_INTERVAL_MS = 10;

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
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await sleep(POLL_INTERVAL_MS);
  }
}
