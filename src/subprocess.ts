// Entry point of the processes that the service starts for itself: `--worker NUMBER PORT` serves beside other
// workers on one port, `--background` does the work that no request waits for. It is not meant to be started
// by hand.

import { constants, setPriority } from 'node:os';
import { ParentLink } from './child-process/parent-link.ts';
import { readConfig } from './config.ts';
import { SharedCall } from './flow/shared-call.ts';
import { SoleCall } from './flow/sole-call.ts';
import { exitOnBug } from './observe/exit-on-bug.ts';
import { createLog } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import type { CallsToProcess, CallsToSupervisor } from './processes/calls-to-process.ts';

type Running = { close?(): void; stop(): Promise<void> };

/**
 * Longest wait for the metrics of all processes: twice the time that the starting process gives each of them.
 */
const SUM_MS_MAX = 1000;

const link = new ParentLink<CallsToProcess, CallsToSupervisor>({ start, stop, answer });
const asking = new SoleCall(() => link.call('sum'));
/** Reads the metrics of all processes of the node, as text; undefined when they do not come in time. */
const summing = new SharedCall(() => asking.ask(SUM_MS_MAX));
const [part, number = '', port = ''] = process.argv.slice(2);
/** Number and port of a serving process; undefined for the background process. */
const worker = part === '--worker' ? { number: Number(number), port: Number(port) } : undefined;
const config = readConfig();
const log = createLog(
  config.logLevel,
  worker === undefined ? { part: 'background' } : { worker: worker.number },
);
const metrics = new Metrics();
let running: Running | undefined;

exitOnBug(log);
await link.run();

async function start(): Promise<void> {
  try {
    running = await (worker === undefined ? startBackground() : startWorker(worker));
  } catch (error) {
    log.debug({ err: error }, 'cannot start');
    throw error;
  }
  log.info('ready');
}

async function startWorker(options: { number: number; port: number }): Promise<Running> {
  const { composeService } = await import('./compose/service.ts');
  const readMetrics = () => summing.ask();
  return composeService(config, log, {
    metrics,
    readMetrics,
    hasBackground: false,
    worker: options,
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
  if (call === 'close') running?.close?.();
  return undefined;
}

async function stop(): Promise<void> {
  await running?.stop();
}
