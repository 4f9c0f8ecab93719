// A process that the service starts for itself: `--worker NUMBER PORT` serves beside others on one port,
// `--background` does the work that nobody waits for. It is never called by hand.
//
// It ends when it is told to, or at once when the process that started it is gone. Signals to the group
// (Ctrl-C, a service manager) are not for it: the one that started it says when and in which order.

import { constants, setPriority } from 'node:os';
import { readConfig } from './config.ts';
import { createLog, type Log } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import { ParentLink } from './processes/parent-link.ts';

type Running = { close?(): void; stop(): Promise<void> };

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));
if (!process.connected) {
  process.stderr.write('sluice: this part of the service is started by the service itself\n');
  process.exit(2);
}

const [part, number = '', port = ''] = process.argv.slice(2);
const config = readConfig();
await run(part === '--worker' ? { number: Number(number), port: Number(port) } : undefined);

/** Runs until it is told to stop; `worker` undefined is the background work. */
async function run(worker: { number: number; port: number } | undefined): Promise<void> {
  const fields = worker === undefined ? { part: 'background' } : { worker: worker.number };
  const log = createLog(config.logLevel, fields);
  exitOnBug(log);
  const metrics = new Metrics();
  let running: Running | undefined;
  const link = new ParentLink({
    metrics,
    onClose: () => running?.close?.(),
    onStop: () => void stop(running, log),
  });
  try {
    running =
      worker === undefined
        ? await startBackground(log, metrics)
        : await startWorker(worker, log, metrics, link);
  } catch (error) {
    log.debug({ err: error }, 'cannot start');
    await link.refuse(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
  log.info('ready');
  link.ready();
}

async function startWorker(
  worker: { number: number; port: number },
  log: Log,
  metrics: Metrics,
  link: ParentLink,
): Promise<Running> {
  const { composeService } = await import('./compose/service.ts');
  const figures = () => link.figures();
  return composeService(config, log, { metrics, figures, hasBackground: false, worker });
}

/** Loads no more than it needs: what serves would only take memory here. */
async function startBackground(log: Log, metrics: Metrics): Promise<Running> {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // It works all the same, only that serving may have to wait for it.
    log.warn({ err: error }, 'the priority of the background work could not be lowered');
  }
  const { composeBackground } = await import('./compose/background.ts');
  return composeBackground(config, log, metrics);
}

async function stop(running: Running | undefined, log: Log): Promise<void> {
  try {
    await running?.stop();
    process.exit(0);
  } catch (error) {
    log.fatal({ err: error }, 'stopping failed');
    process.exit(1);
  }
}

/** A bug that reached the top leaves the process in an unknown state: better a restart than wrong answers. */
function exitOnBug(log: Log): void {
  const exit = (error: unknown): void => {
    log.fatal({ err: error }, 'unexpected error');
    process.exit(1);
  };
  process.on('uncaughtException', exit);
  process.on('unhandledRejection', exit);
}
