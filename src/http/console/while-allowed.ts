// An open stream outlives the request that began it, and so may outlive the right to see what is in it.

import type { EventSource } from '../event-stream.ts';

const RECHECK_MS = 10_000;

/**
 * The events, until `mayWatch` says no: whoever signed out or was sent away hears nothing more soon after.
 */
export function whileAllowed(source: EventSource, mayWatch: () => Promise<boolean>): EventSource {
  return (sink) => {
    let stop: (() => void) | undefined = source(sink);
    const end = (): void => {
      clearInterval(timer);
      stop?.();
      stop = undefined;
    };
    const timer = setInterval(() => {
      mayWatch().then(
        (isAllowed) => {
          if (!isAllowed) end();
        },
        // The ledger is away: nothing was taken away either, as far as anybody knows.
        () => undefined,
      );
    }, RECHECK_MS);
    return end;
  };
}
