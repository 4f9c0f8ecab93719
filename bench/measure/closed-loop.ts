// Describes servers on this machine as sides of a closed loop, and warms them up before they are measured.

import type { Generator } from '../load/generator.ts';
import type { Question } from '../load/question.ts';
import { type Background, type Patience, patienceOf, waitUntilIdle } from './patience.ts';
import { measure, type Repetition, type Side } from './rounds.ts';

export type ClosedLoop = {
  readonly question: Question;
  readonly connections: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Status that every answer must have. */
  readonly expected: number;
  /** Whether each request has a connection of its own. */
  readonly isOneRequest?: boolean;
  /** True when the generator never sleeps; see `LoadOptions`. */
  readonly isAwake?: boolean;
};

export type SideServer = {
  readonly port: number;
  /** Processes that answer. */
  readonly pids: readonly number[];
  readonly backgroundPids?: readonly number[];
};

const WAIT_MS = 45_000;
const WAIT_PER_ROUND_MS = 10_000;
const MEETING_SECONDS_MAX = 60;
/** Number of connections while a fleet is new: its labels wait for PostgreSQL, which records many at once. */
const MEETING_CONNECTIONS = 512;

/** A few alternated rounds, with room for disturbed ones. */
export function repetition(isSmoke: boolean, background: Background): Repetition {
  const patience = patienceOf(isSmoke, WAIT_MS, WAIT_PER_ROUND_MS, background);
  return { wanted: isSmoke ? 1 : 3, retries: isSmoke ? 0 : 2, patience };
}

/** A server as one of the sides. */
export function sideOf(name: string, server: SideServer, loop: ClosedLoop): Side {
  const { question, connections, seconds, warmupSeconds, expected } = loop;
  const { isAwake = false, isOneRequest = false } = loop;
  const { port, pids, backgroundPids = [] } = server;
  return {
    name,
    load: {
      ...{ host: '127.0.0.1', port, question, connections, pipelining: 1 },
      ...{ seconds, warmupSeconds, isAwake, isOneRequest },
    },
    serverPids: pids,
    backgroundPids,
    expected,
  };
}

/** Runs every side until its code is compiled, before it is measured. */
export async function warmSides(generator: Generator, sides: readonly Side[]): Promise<void> {
  for (const side of sides) await measure(generator, side, 0);
}

/**
 * Runs a side until it is compiled. Rounds of the returned side go on in the fleet where the warm-up ended.
 */
export async function warmSide(generator: Generator, side: Side, seconds: number): Promise<Side> {
  const { sent } = await measure(generator, { ...side, load: { ...side.load, seconds } }, 0);
  return { ...side, load: { ...side.load, skip: sent } };
}

/**
 * Lets every device of the fleet ask, and waits with this patience until all are on record; `times` times,
 * one after the other.
 */
export async function meetFleet(
  generator: Generator,
  side: Side,
  patience: Patience,
  times = 1,
): Promise<void> {
  const load = {
    ...side.load,
    // A generator that never sleeps would keep PostgreSQL from the processor they share.
    isAwake: false,
    isOneRequest: false,
    connections: MEETING_CONNECTIONS,
    seconds: MEETING_SECONDS_MAX,
    warmupSeconds: 0,
    requestsMax: side.load.question.devices,
  };
  for (let time = 0; time < times; time++) {
    await measure(generator, { ...side, load }, 0);
    await waitUntilIdle(patience);
  }
}
