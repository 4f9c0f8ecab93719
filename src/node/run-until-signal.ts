// Run of a process that serves: what is there before its start, and what signals do to it.

import { setTimeout as sleep } from 'node:timers/promises';
import { exitOnBug } from '../observe/exit-on-bug.ts';
import { createLog, type Log } from '../observe/log.ts';
import { readEdgeConfig } from '../settings/edge-settings.ts';
import { type Config, ConfigError, readConfig, readNearSettings } from '../settings/settings.ts';
import { composeEdge } from './edge-process.ts';
import type { RunningService } from './start-service.ts';

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

// Warning of variables that an operator may have meant as settings.

/** Names the variables that look like a misspelt setting: nothing else would tell that they are not read. */
function tellNearSettings(log: Log): void {
  const names = Object.fromEntries(readNearSettings().map(({ name, setting }) => [name, setting]));
  if (Object.keys(names).length > 0) {
    log.warn({ names }, 'names in the environment look like settings, and are not read');
  }
}

// Reading of the settings' files while the service runs, whenever an operator sends SIGHUP.

/**
 * Listens for SIGHUP, which ends no process from now on. Returns a function to call once there is a service:
 * it gets what the files contain then, also for a signal that came before. What cannot be used changes
 * nothing, and is logged.
 */
function reloadOnSignal(
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

// Stop of a service on a signal of the operator or the service manager.

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
function stopOnSignal(
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

// Entry point of an edge (`sluice edge`): reads the settings, starts it and stops it on a signal.

/**
 * Starts an edge that runs until a signal stops it; `upstream` takes the place of EDGE_UPSTREAM. Rejects with
 * a `ConfigError` when a setting is wrong, and ends the process when one cannot be used.
 */
export async function runEdge(upstream: string | undefined): Promise<void> {
  const config = readEdgeConfig(upstream);
  const { service: edge, log } = await runUntilSignal(config, composeEdge);
  const { address, port, adminPort } = edge;
  const admin = adminPort === undefined ? {} : { adminPort };
  log.info({ address, port, ...admin, upstream: config.edge.upstream }, 'listening');
}
