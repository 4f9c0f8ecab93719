// Servers that take turns under the same closed loop: how a benchmark other than `check` describes them.

import { type BenchService, SERVER_PROCESSOR } from './bench-service.ts';
import { type ChildServer, startChildServer } from './child-server.ts';
import { pinProcess } from './cpu-account.ts';
import type { Generator } from './generator.ts';
import type { LoadOptions } from './load-run.ts';
import type { Question } from './question.ts';
import type { Recording } from './recording.ts';
import { measure, patienceOf, type Side } from './rounds.ts';

export type ClosedLoop = {
  readonly question: Question;
  readonly connections: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly expected: number;
};

export type SideServer = {
  readonly port: number;
  /** The processes that answer. */
  readonly pids: readonly number[];
  readonly backgroundPids?: readonly number[];
};

const WAIT_MS = 45_000;
const WAIT_PER_ROUND_MS = 10_000;

/** How the rounds of a benchmark are repeated: alternated, with room for disturbed ones. */
export function repetition(isSmoke: boolean, recording: Recording) {
  const patience = patienceOf(isSmoke, WAIT_MS, WAIT_PER_ROUND_MS, recording);
  return { wanted: isSmoke ? 1 : 3, retries: isSmoke ? 0 : 2, patience };
}

/** A server as one of the sides. */
export function sideOf(name: string, server: SideServer, loop: ClosedLoop): Side {
  const { question, connections, seconds, warmupSeconds, expected } = loop;
  const load: LoadOptions = {
    host: '127.0.0.1',
    port: server.port,
    question,
    connections,
    pipelining: 1,
    seconds,
    warmupSeconds,
  };
  return {
    name,
    load,
    serverPids: server.pids,
    backgroundPids: server.backgroundPids ?? [],
    expected,
  };
}

/** Lets every side get compiled before it is measured. */
export async function warmSides(generator: Generator, sides: readonly Side[]): Promise<void> {
  for (const side of sides) await measure(generator, side, 0);
}

/** Starts a server of bench/servers/ on the measured processor, watched as the service is. */
export async function startPinnedServer(
  service: BenchService,
  name: string,
  settings: unknown,
): Promise<ChildServer> {
  const server = await startChildServer(name, settings, service.gc.environment);
  pinProcess(server.pid, SERVER_PROCESSOR);
  return server;
}
