// Entry point of the service's own processes: `--worker ENGINE NUMBER PORT` serves beside other workers on
// one port, `--admin ENGINE PORT SERVICE_PORT` serves the console and monitoring, `--background ENGINE` does
// the background work. ENGINE is the HTTP engine that the parent has chosen. Do not start it by hand.

import { constants, setPriority } from 'node:os';
import type { EngineName } from '../../http/transport/engine.ts';
import { exitOnBug } from '../../observe/exit-on-bug.ts';
import { createLog, type Log } from '../../observe/log.ts';
import { Metrics } from '../../observe/metrics.ts';
import { ParentLink } from '../../process/child-process.ts';
import { type Config, type FileValues, readConfig } from '../../settings/settings.ts';
import { build } from '../version.ts';
import { NodeLink } from './node-calls.ts';
import type { Service } from './serving-process.ts';
import type { CallsToProcess, CallsToSupervisor } from './supervised-process.ts';

type Running = Pick<Service, 'stop' | 'reload'> &
  Partial<Pick<Service, 'drain' | 'close' | 'state' | 'follow'>>;
type Changes = Parameters<Service['follow']>[0];

const link = new ParentLink<CallsToProcess, CallsToSupervisor>({ start, stop, answer });
const node = new NodeLink(link);
const [part = '', engineName, ...numbers] = process.argv.slice(2);
const engine = engineName as EngineName;
const [first = Number.NaN, second = Number.NaN] = numbers.map(Number);
const starts: Readonly<Record<string, (config: Config, log: Log) => Promise<Running>>> = {
  '--worker': (...own) => startWorker(...own, { number: first, port: second }),
  '--admin': (...own) => startAdmin(...own, { port: first, servicePort: second }),
};
const STARTING = { obstacle: 'starting', degraded: [] };
const processName = part === '--worker' ? `worker-${first}` : part.replace(/^--/, '');
const metrics = new Metrics(processName, { ...build(), engine });
let running: Running | undefined;
/** Settings of the latest reload; undefined before the first. */
let told: Config | undefined;

await link.run();

async function start(): Promise<void> {
  // The parent's settings, because the files may have changed since it read them.
  const config = readFrom(await node.settings());
  const identity = part === '--worker' ? { worker: first } : { part: processName };
  const log = createLog(config.logLevel, identity);
  exitOnBug(log);
  try {
    running = await (starts[part] ?? startBackground)(config, log);
    if (told !== undefined) await running.reload(told);
  } catch (error) {
    log.debug({ err: error }, 'cannot start');
    throw error;
  }
  log.info('ready');
}

function readFrom(settings: unknown): Config {
  // All processes of a node run the same build.
  return readConfig(undefined, settings as FileValues);
}

async function startWorker(
  config: Config,
  log: Log,
  worker: { number: number; port: number },
): Promise<Running> {
  const { loadEngine } = await import('../../http/transport/engine.ts');
  const { composeService } = await import('./serving-process.ts');
  return composeService(config, log, {
    engine: await loadEngine(engine),
    metrics,
    readMetrics: () => node.metrics(),
    hasBackground: false,
    worker,
    tellNode: (changes) => node.tell(changes),
  });
}

async function startAdmin(
  config: Config,
  log: Log,
  ports: { port: number; servicePort: number },
): Promise<Running> {
  const { loadEngine } = await import('../../http/transport/engine.ts');
  const { composeAdmin } = await import('./admin-process.ts');
  return composeAdmin(config, log, {
    engine: await loadEngine(engine),
    metrics,
    readMetrics: () => node.metrics(),
    readiness: () => node.readiness(),
    tellNode: (changes) => node.tell(changes),
    ...ports,
  });
}

/** Starts the background work. Does not load the modules that serve requests, because they take memory. */
async function startBackground(config: Config, log: Log): Promise<Running> {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // The process works at normal priority, too, but may delay serving processes.
    log.warn({ err: error }, 'the priority of the background work could not be lowered');
  }
  const { composeBackground } = await import('./background-process.ts');
  return composeBackground(config, log, metrics);
}

async function answer(call: CallsToProcess['call']): Promise<CallsToProcess['answer']> {
  if (call === 'metrics') return metrics.registry.getMetricsAsJSON();
  if (call === 'readiness') return (await running?.state?.()) ?? STARTING;
  if (call === 'drain') running?.drain?.();
  if (call === 'close') running?.close?.();
  if (typeof call === 'object' && 'settings' in call) {
    told = readFrom(call.settings);
    await running?.reload(told);
  }
  // Notifications are changes of channels.
  if (typeof call === 'object' && 'notification' in call)
    await running?.follow?.(call.notification as Changes);
  return undefined;
}

async function stop(): Promise<void> {
  await running?.stop();
}
