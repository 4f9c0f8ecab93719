// Repeated access check of an open event stream, which outlives the request that began it and may therefore
// outlive the visitor's right to see its events.

import type { EventSource } from '../event-stream.ts';

const RECHECK_MS = 10_000;

/**
 * Wraps a source: `mayWatch` is asked every `RECHECK_MS`, and the events end when it answers false, because
 * the visitor signed out or lost the membership.
 */
export function recheckAccess<Data>(
  source: EventSource<Data>,
  mayWatch: () => Promise<boolean>,
): EventSource<Data> {
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
        // The ledger is unavailable. Without an answer the stream goes on until a later check.
        () => undefined,
      );
    }, RECHECK_MS);
    return end;
  };
}
