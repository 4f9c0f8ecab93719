// Starts a node of several processes, as an operator would start it, and opens many connections to it,
// because the kernel spreads connections over processes, not requests.

import type { ChildProcess } from 'node:child_process';
import { Agent } from 'node:http';
import { describe } from 'vitest';
import { logLines } from './admin-address.ts';
import { describeOnRealStores, realStores } from './backend.ts';
import { engineOfRun } from './base-environment.ts';
import { eventually } from './eventually.ts';
import { ask, type Reply } from './http-ask.ts';
import { type NodeSettings, startNode } from './node.ts';
import { storesOn } from './real-node.ts';
import { removeFolder, temporaryFolder } from './server-process.ts';

const START_TIMEOUT_MS = 120_000;

const CAN_HAVE_WORKERS = (await engineOfRun()).canSharePort;
/** End of the title of a test of several workers that cannot run: says why it is skipped. */
export const WORKERS_ONLY = CAN_HAVE_WORKERS
  ? ''
  : ' (skipped: node:http of this Node shares no port, so there is one worker)';

/** Runs a suite that needs several workers on the real stores, or skips it and says why. */
export function describeOnWorkers(title: string, suite: () => void): void {
  if (CAN_HAVE_WORKERS) describeOnRealStores(title, suite);
  else describe.skipIf(WORKERS_ONLY !== '')(title + WORKERS_ONLY, suite);
}

export type WorkerNode = {
  readonly url: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** The process that an operator starts and signals. */
  readonly main: ChildProcess;
  readonly exitCode: Promise<number | null>;
  /** Log of the node so far, line by line. */
  log(): Record<string, unknown>[];
  /** The process ids that a part (`worker 1`, `background`) has had, oldest first. */
  processIds(part: string): number[];
  /** Sends SIGKILL to a part and waits for its end. */
  killPart(part: string): Promise<void>;
  /** Ends the node in whatever state it is, and removes its data. */
  dispose(): Promise<void>;
};

export type Stores = Awaited<ReturnType<typeof storesOn>>;

/** A PostgreSQL database and a Redis for one test. */
export function freshStores(): Promise<Stores> {
  const real = realStores();
  if (real === undefined) throw new Error('no PostgreSQL or no Redis on this machine');
  return storesOn(real.postgresUrl);
}

/**
 * Starts a node on the stores, and waits until it and its background process are ready; `command` are the
 * arguments of Node.js.
 */
export async function startWorkerNode(
  stores: Stores,
  settings: NodeSettings = {},
  command?: readonly string[],
): Promise<WorkerNode> {
  const dataDir = temporaryFolder('sluice-workers-');
  const all: NodeSettings = { DATA_DIR: dataDir, ...stores.settings, ...settings };
  const node = await startNode(all, command);
  const { child: main, exitCode } = node.process;
  const log = () => logLines(node.output());
  const processIds = (part: string) =>
    log()
      .filter(({ msg, ...line }) => msg === 'ready' && partOf(line) === part)
      .map(({ pid }) => Number(pid));
  await eventually(
    'its background process is ready',
    () => processIds('background').length > 0,
    START_TIMEOUT_MS,
  ).catch((error: unknown) => {
    main.kill('SIGKILL');
    throw error;
  });
  return {
    url: node.url,
    port: Number(new URL(node.url).port),
    databaseUrl: String(all.DATABASE_URL),
    main,
    exitCode,
    log,
    processIds,
    async killPart(part) {
      const processId = processIds(part).at(-1) ?? Number.NaN;
      process.kill(processId, 'SIGKILL');
      await eventually('the killed process is gone', () => !isAlive(processId));
    },
    async dispose() {
      await node.kill();
      removeFolder(dataDir);
    },
  };
}

/** Returns the process that wrote a line of the log; undefined for the one that the operator started. */
export function partOf(line: Record<string, unknown>): string | undefined {
  if (line.worker !== undefined) return `worker ${line.worker}`;
  return line.part === undefined ? undefined : String(line.part);
}

/** Tells whether a process runs. An ended process whose exit code was not collected does not run. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

/** Keep-alive connections, each opened with its first request. */
export class Connections {
  private readonly agents: readonly Agent[];

  constructor(count: number) {
    this.agents = Array.from(
      { length: count },
      () => new Agent({ keepAlive: true, maxSockets: 1 }),
    );
  }

  get count(): number {
    return this.agents.length;
  }

  /** Asks over one of the connections; rejects when it breaks. */
  ask(connection: number, url: string, headers: Record<string, string> = {}): Promise<Reply> {
    return ask(url, { headers, agent: this.agents[connection % this.agents.length] });
  }

  close(): void {
    for (const agent of this.agents) agent.destroy();
  }
}
