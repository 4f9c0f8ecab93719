// Run of a process that serves: what is there before its start, and what signals do to it.

import { exitOnBug } from '../observe/exit-on-bug.ts';
import { createLog, type Log } from '../observe/log.ts';
import type { Config } from '../settings/settings.ts';
import { reloadOnSignal } from './reload-on-signal.ts';
import { stopOnSignal } from './stop-on-signal.ts';
import { tellNearSettings } from './tell-near-settings.ts';

/** What runs, as far as signals are about it. */
type Running = Parameters<ReturnType<typeof stopOnSignal>>[0] &
  Parameters<ReturnType<typeof reloadOnSignal>>[0];

/**
 * Starts what serves; signals stop it and make it read its settings again. Ends the process, with the reason
 * in one line, when it cannot start.
 */
export async function runUntilSignal<Settings extends Config, Service extends Running>(
  config: Settings,
  start: (config: Settings, log: Log) => Promise<Service>,
): Promise<{ readonly service: Service; readonly log: Log }> {
  const log = createLog(config.logLevel);
  exitOnBug(log);
  tellNearSettings(log);
  const running = stopOnSignal(config, log);
  const reloading = reloadOnSignal(log);
  const service = await start(config, log).catch((error: unknown) => {
    log.fatal({ err: error }, 'cannot start');
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`sluice: ${reason.replace(/\s+/g, ' ')}\n`);
    process.exit(1);
  });
  running(service);
  reloading(service, config);
  return { service, log };
}
