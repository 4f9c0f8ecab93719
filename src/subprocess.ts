// Entry point of the processes that the service starts for itself: `--worker NUMBER PORT` serves beside other
// workers on one port, `--admin PORT SERVICE_PORT` serves people and monitoring, `--background` does the work
// that no request waits for. It is not meant to be started by hand.

import { constants, setPriority } from 'node:os';
import { ParentLink } from './child-process/parent-link.ts';
import type { Service } from './compose/service.ts';
import { readConfig } from './config.ts';
import { exitOnBug } from './observe/exit-on-bug.ts';
import { createLog } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import type { CallsToProcess, CallsToSupervisor } from './processes/calls-to-process.ts';
import { NodeLink } from './processes/node-link.ts';

type Running = Pick<Service, 'stop'> &
  Partial<Pick<Service, 'drain' | 'close' | 'state' | 'follow'>>;
type Changes = Parameters<Service['follow']>[0];

const link = new ParentLink<CallsToProcess, CallsToSupervisor>({ start, stop, answer });
const node = new NodeLink(link);
const [part = '', ...numbers] = process.argv.slice(2);
const [first = Number.NaN, second = Number.NaN] = numbers.map(Number);
const starts: Readonly<Record<string, () => Promise<Running>>> = {
  '--worker': () => startWorker({ number: first, port: second }),
  '--admin': () => startAdmin({ port: first, servicePort: second }),
};
const config = readConfig();
const log = createLog(
  config.logLevel,
  part === '--worker' ? { worker: first } : { part: part.replace(/^--/, '') },
);
const STARTING = { obstacle: 'starting', degraded: [] };
const metrics = new Metrics();
let running: Running | undefined;

exitOnBug(log);
await link.run();

async function start(): Promise<void> {
  try {
    running = await (starts[part] ?? startBackground)();
  } catch (error) {
    log.debug({ err: error }, 'cannot start');
    throw error;
  }
  log.info('ready');
}

async function startWorker(worker: { number: number; port: number }): Promise<Running> {
  const { composeService } = await import('./compose/service.ts');
  return composeService(config, log, {
    metrics,
    readMetrics: () => node.metrics(),
    hasBackground: false,
    worker,
    tellNode: (changes) => node.tell(changes),
  });
}

async function startAdmin(ports: { port: number; servicePort: number }): Promise<Running> {
  const { composeAdmin } = await import('./compose/admin.ts');
  return composeAdmin(config, log, {
    metrics,
    readMetrics: () => node.metrics(),
    readiness: () => node.readiness(),
    tellNode: (changes) => node.tell(changes),
    ...ports,
  });
}

/**
 * Starts the background work. The modules that serve requests are not loaded, as they would only take memory.
 */
async function startBackground(): Promise<Running> {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // The process works all the same, but serving processes may have to wait for it.
    log.warn({ err: error }, 'the priority of the background work could not be lowered');
  }
  const { composeBackground } = await import('./compose/background.ts');
  return composeBackground(config, log, metrics);
}

async function answer(call: CallsToProcess['call']): Promise<CallsToProcess['answer']> {
  if (call === 'metrics') return metrics.registry.getMetricsAsJSON();
  if (call === 'readiness') return (await running?.state?.()) ?? STARTING;
  if (call === 'drain') running?.drain?.();
  if (call === 'close') running?.close?.();
  // All processes of a node run the same build, and only changes of channels are told.
  if (typeof call === 'object') await running?.follow?.(call.news as Changes);
  return undefined;
}

async function stop(): Promise<void> {
  await running?.stop();
}
