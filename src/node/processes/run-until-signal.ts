// Runs a serving process until a signal stops it: log, settings, start, reload and stop.

import { setTimeout as sleep } from 'node:timers/promises';
import { exitOnBug } from '../../observe/exit-on-bug.ts';
import { createLog, type Log } from '../../observe/log.ts';
import { readEdgeConfig } from '../../settings/edge-settings.ts';
import { type Config, ConfigError, readConfig, readNearSettings } from '../../settings/settings.ts';
import { composeEdge } from './edge-process.ts';
import type { RunningService } from './start-service.ts';

/** Part of a service that the handlers of signals use. */
type Running = Parameters<ReturnType<typeof stopOnSignal>>[0] &
  Parameters<ReturnType<typeof reloadOnSignal>>[0];

/**
 * Starts a service; signals stop it or reload its settings. If it cannot start, ends the process with the
 * reason in one line.
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
    // A wrong setting is reported once, on stderr. Anything else is a bug, whose stack must be logged.
    log[error instanceof ConfigError ? 'debug' : 'fatal']({ err: error }, 'cannot start');
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`sluice: ${reason.replace(/\s+/g, ' ')}\n`);
    process.exit(1);
  });
  running(service);
  reloading(service, config);
  return { service, log };
}

/** Warns of environment variables that look like misspelt settings, because nothing reads them. */
function tellNearSettings(log: Log): void {
  const names = Object.fromEntries(readNearSettings().map(({ name, setting }) => [name, setting]));
  if (Object.keys(names).length > 0) {
    log.warn({ names }, 'names in the environment look like settings, and are not read');
  }
}

/**
 * Listens for SIGHUP, which would otherwise end the process, to reload the settings' files. Returns a
 * function to call with the started service, which also handles an earlier signal.
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

/** Reloads a service's settings, one reload at a time; signals during a reload share the next one. */
class Reloading {
  private present: Config;
  private isRunning = false;
  private isAsked = false;

  constructor(
    private readonly service: Pick<RunningService, 'reload'>,
    config: Config,
    private readonly log: Log,
  ) {
    this.present = config;
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

/** Longest stop; after it the process exits, because SIGTERM promises an end within 10 s. */
const STOP_MS_MAX = 9000;
/** Time within which signals count as one: npm forwards the signal that the service manager sent to both. */
const ONE_SIGNAL_MS = 1000;

type Stoppable = { drain(): void | Promise<void>; stop(): Promise<void> };

/**
 * Listens for SIGTERM and SIGINT even before the start, because the first process of a container ignores
 * signals without a listener. Returns a function to call with the started service; until then a signal ends
 * the process at once. With DRAIN_SECONDS the service first stays up, not ready, for that long or until
 * another signal.
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

/**
 * Runs an edge (`sluice edge`) until a signal stops it; `upstream` overrides EDGE_UPSTREAM. Rejects with a
 * `ConfigError` for a wrong setting; ends the process if the edge cannot start.
 */
export async function runEdge(upstream: string | undefined): Promise<void> {
  const config = readEdgeConfig(upstream);
  const { service: edge, log } = await runUntilSignal(config, composeEdge);
  const { address, port, adminPort } = edge;
  const admin = adminPort === undefined ? {} : { adminPort };
  log.info({ address, port, ...admin, upstream: config.edge.upstream }, 'listening');
}
