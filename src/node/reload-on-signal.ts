// Reading of the settings' files while the service runs, whenever an operator sends SIGHUP.

import type { Log } from '../observe/log.ts';
import { type Config, ConfigError, readConfig } from '../settings/settings.ts';
import type { RunningService } from './start-service.ts';

/**
 * Listens for SIGHUP, which ends no process from now on. Returns a function to call once there is a service:
 * it gets what the files contain then, also for a signal that came before. What cannot be used changes
 * nothing, and is logged.
 */
export function reloadOnSignal(
  log: Log,
): (service: Pick<RunningService, 'reload'>, config: Config) => void {
  let running: Reloading | undefined;
  let isAsked = false;
  process.on('SIGHUP', () => {
    isAsked = true;
    running?.reload();
  });
  return (service, config) => {
    running = new Reloading(service, config, log);
    if (isAsked) running.reload();
  };
}

/** Reads settings for a service, one time after another: signals that come meanwhile share the next one. */
class Reloading {
  private readonly service: Pick<RunningService, 'reload'>;
  private readonly log: Log;
  private present: Config;
  private isRunning = false;
  private isAsked = false;

  constructor(service: Pick<RunningService, 'reload'>, config: Config, log: Log) {
    this.service = service;
    this.present = config;
    this.log = log;
  }

  reload(): void {
    this.isAsked = true;
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.isAsked) {
      this.isAsked = false;
      await this.readOnce();
    }
    this.isRunning = false;
  }

  private async readOnce(): Promise<void> {
    try {
      const next = readConfig();
      await this.service.reload(next);
      const changed = namesOfChanges(this.present, next);
      this.present = next;
      this.log.info({ changed }, 'settings were read again');
    } catch (error) {
      const reason = error instanceof ConfigError ? error.message : undefined;
      const details = reason === undefined ? { err: error } : { reason };
      this.log.error(details, 'settings could not be read again, the ones before stay');
    }
  }
}

function namesOfChanges({ files: before }: Config, { files: after }: Config): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof typeof after)[]);
  return [...names].filter((name) => before[name] !== after[name]);
}
