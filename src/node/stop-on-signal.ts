// Stop of a service on a signal of the operator or the service manager.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../observe/log.ts';
import type { Config } from '../settings/settings.ts';

/** Longest stop, after which the process exits whatever hangs: SIGTERM promises an end within 10 s. */
const STOP_MS_MAX = 9000;
/** Time within which signals count as one: npm passes on what the service manager sent to both. */
const ONE_SIGNAL_MS = 1000;

/** Service as far as a signal is about it. */
type Stoppable = { drain(): void | Promise<void>; stop(): Promise<void> };

/**
 * Listens for signals already before the start, because the first process of a container would lose a SIGTERM
 * without a listener. Returns a function to call once there is a service to stop; until then a signal ends
 * the process at once. With DRAIN_SECONDS the service goes on for so long, not ready; a later signal ends
 * that.
 */
export function stopOnSignal(
  { drainMs }: Pick<Config, 'drainMs'>,
  log: Log,
): (service: Stoppable) => void {
  let running: Stoppable | undefined;
  let signalledAt: number | undefined;
  const enough = new AbortController();
  const drain = async (): Promise<void> => {
    if (running === undefined || drainMs === 0) return;
    log.info({ seconds: drainMs / 1000 }, 'draining');
    await running.drain();
    await sleep(drainMs, undefined, { signal: enough.signal }).catch(() => undefined);
  };
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (signalledAt !== undefined) {
      if (performance.now() - signalledAt >= ONE_SIGNAL_MS) enough.abort();
      return;
    }
    signalledAt = performance.now();
    await drain();
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.warn('something did not stop in time');
      process.exit(0);
    }, STOP_MS_MAX).unref();
    await running?.stop();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, (received) => {
      stop(received).catch((error: unknown) => {
        log.fatal({ err: error }, 'stopping failed');
        process.exit(1);
      });
    });
  }
  return (service) => {
    running = service;
  };
}
