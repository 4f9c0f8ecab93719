// Alternates rounds of several servers under the same load, and repeats disturbed ones, within bounds. A
// round is one run of the load against one side, a turn one round of every side, one after the other.

import { setTimeout as sleep } from 'node:timers/promises';
import { LatencyHistogram } from '../load/latency-histogram.ts';
import type { LoadOptions } from '../load/load-connection.ts';
import type { Generator, LoadResult } from '../load/run-load.ts';
import { foreignMs, usedMs } from '../machine/processes.ts';
import { failuresOf } from '../report.ts';
import type { Patience } from './patience.ts';
import { median } from './statistics.ts';

export type Server = { port: number; pids: readonly number[]; backgroundPids?: readonly number[] };

export type Side = {
  readonly name: string;
  readonly server: Server;
  readonly load: LoadOptions;
  readonly expected: number;
};

export type Round = ReturnType<typeof judged>;

export type SideSummary = ReturnType<typeof summarise>;

/** Numbers of undisturbed turns, and at most of further ones in place of disturbed ones. */
type Turns = { readonly wanted: number; readonly retries: number };

/**
 * Shares of one processor during a round; NaN where the system does not tell. `generatorSide` is that of the
 * generator and all else on its processor, `foreign` is no part of the benchmark, `stolen` is the host's.
 */
type RoundShares = Record<'server' | 'generatorSide' | 'foreign' | 'stolen', number>;

/** Connections: with half of them the generator is the bottleneck on two processors. */
export const CONNECTIONS = 128;
const MEETING_CONNECTIONS = 512;
const MEETING_SECONDS_MAX = 60;
/** Minimum share of its processor at which the server is what limits the rate. */
const SATURATED = 0.94;
const GENERATOR_SATURATED = 0.9;
const FOREIGN_MAX = 0.06;
/** Share that the host may take: it counts in ticks of 10 ms, of which a round of 0.3 s may lose one. */
const STOLEN_MAX = 0.04;

export function sideOf(
  name: string,
  server: Server,
  {
    expected,
    ...loop
  }: Omit<LoadOptions, 'host' | 'port' | 'connections'> & Pick<Side, 'expected'>,
): Side {
  const load = { host: '127.0.0.1', port: server.port, connections: CONNECTIONS, ...loop };
  return { name, server, load, expected };
}

/** Takes turns with sides, within the time that there is to wait for a quiet machine. */
export class Comparison {
  readonly generator: Generator;
  readonly patience: Patience;

  constructor(generator: Generator, patience: Patience) {
    this.generator = generator;
    this.patience = patience;
  }

  /** Lets every device of the fleet ask so many times, and waits each time until all are on record. */
  async meet(side: Side, times = 1, patience = this.patience): Promise<void> {
    for (let time = 0; time < times; time++) {
      await this.measure(side, {
        // A generator that never sleeps would keep PostgreSQL from the processor they share.
        ...{ isAwake: false, isOneRequest: false, connections: MEETING_CONNECTIONS },
        ...{ seconds: MEETING_SECONDS_MAX, warmupSeconds: 0 },
        requestsMax: side.load.question.devices,
      });
      await patience.waitUntilIdle();
    }
  }

  /** Runs a side until it is compiled. Rounds of the returned side go on in the fleet where this ended. */
  async warm(side: Side, seconds: number): Promise<Side> {
    const { sent } = await this.measure(side, { seconds });
    return { ...side, load: { ...side.load, skip: sent } };
  }

  /**
   * Measures the sides one after the other. When a round of any was disturbed, all are measured again: rounds
   * are compared with those next to them, because the machine's own pace changes from minute to minute. Every
   * other turn goes through the sides in reverse, so that none gains from always being the first.
   */
  async alternate(sides: readonly Side[], { wanted, retries }: Turns): Promise<SideSummary[]> {
    const all = sides.map((side) => ({ side, rounds: [] as Round[], skip: side.load.skip ?? 0 }));
    const goodTurns = () =>
      [...(all[0]?.rounds.keys() ?? [])].filter((turn) =>
        all.every(({ rounds }) => rounds[turn]?.verdict !== 'disturbed'),
      );
    for (let turn = 0; turn < wanted + retries && goodTurns().length < wanted; turn++) {
      for (const each of turn % 2 === 0 ? all : all.toReversed()) {
        await this.patience.waitUntilIdle();
        const { round, sent } = await this.measure(each.side, { skip: each.skip });
        each.skip += sent;
        each.rounds.push(round);
        await sleep(0);
      }
    }
    const turns = goodTurns();
    return all.map(({ side, rounds }) => summarise(side.name, rounds, turns));
  }

  private async measure(side: Side, change: Partial<LoadOptions>) {
    const result = await this.generator.run({ ...side.load, ...change });
    return { round: judged(this.generator, side, result), sent: result.sent };
  }
}

/**
 * Judges whether a round says something about the server. When it is `generator-bound`, the rate is that of
 * the generator, but the CPU per request counts. The open loop saturates nothing on purpose. A share that
 * cannot be measured does not speak against a round.
 */
export function judgeRound(
  { server, generatorSide, foreign, stolen }: RoundShares,
  isPaced: boolean,
): 'good' | 'generator-bound' | 'disturbed' {
  if (foreign > FOREIGN_MAX || stolen > STOLEN_MAX) return 'disturbed';
  if (isPaced || !(server < SATURATED)) return 'good';
  return generatorSide >= GENERATOR_SATURATED ? 'generator-bound' : 'disturbed';
}

function judged(generator: Generator, { server, load, expected }: Side, result: LoadResult) {
  const { begin, end } = result.cpu;
  const wallMs = end.at - begin.at;
  const used = (pids: readonly number[]) => usedMs(begin, end, pids);
  const own = [...server.pids, generator.pid];
  const others = Object.keys(end.processesMs).map(Number);
  const generatorMs = result.busyMs ?? used([generator.pid]);
  const shares = {
    server: used(server.pids) / wallMs,
    generatorSide: (used(others.filter((pid) => !own.includes(pid))) + generatorMs) / wallMs,
    foreign: foreignMs(begin, end) / wallMs,
    stolen: (end.stolenMs - begin.stolenMs) / wallMs,
  };
  const perResponseUs = (ms: number) => (ms * 1000) / result.responses;
  return {
    verdict: judgeRound(shares, load.rate !== undefined),
    rps: result.responses / result.seconds,
    cpuUs: perResponseUs(used(server.pids)),
    backgroundUs: perResponseUs(used(server.backgroundPids ?? [])),
    serverShare: shares.server,
    /** Share of the time for which the host kept the generator from running, in the open loop. */
    lostShare: result.lostMs / wallMs,
    latency: new LatencyHistogram(result.latency),
    errors: errorsOf(result, expected),
  };
}

/** Errors of a run by kind, answers with another status than the expected one among them. */
export function errorsOf({ errors, statuses }: LoadResult, expected: number) {
  const others = Object.entries(statuses).filter(([status]) => Number(status) !== expected);
  return { ...errors, ...Object.fromEntries(others.map(([each, n]) => [`status ${each}`, n])) };
}

function summarise(name: string, rounds: readonly Round[], turns: readonly number[]) {
  const good = rounds.filter((_, turn) => turns.includes(turn));
  const chosen = good.length > 0 ? good : rounds;
  const middle = (value: (round: Round) => number) => median(chosen.map(value));
  return {
    ...{ name, rounds: chosen, rejected: rounds.length - good.length },
    /** True when a round of every turn was disturbed, and the summary had to be made of all rounds. */
    isDisturbed: good.length === 0,
    rps: middle(({ rps }) => rps),
    cpuUs: middle(({ cpuUs }) => cpuUs),
    backgroundUs: middle(({ backgroundUs }) => backgroundUs),
    serverShare: middle(({ serverShare }) => serverShare),
    isGeneratorBound: chosen.some(({ verdict }) => verdict === 'generator-bound'),
    errors: added(rounds.map(({ errors }) => errors).concat(chosen.flatMap(errorOfEmpty))),
    /** Percentile of the latencies in microseconds: the median of the rounds' own. */
    percentileUs: (share: number) => middle(({ latency }) => latency.percentileUs(share)),
  };
}

/** Error of a round that counts and in which nothing was answered: it has no CPU per request. */
function errorOfEmpty({ rps }: Round): Record<string, number>[] {
  return rps === 0 ? [{ 'rounds without an answer': 1 }] : [];
}

/** Errors of all, by kind. */
export function added(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const [kind, count] of all.flatMap((each) => Object.entries(each))) {
    errors[kind] = (errors[kind] ?? 0) + count;
  }
  return errors;
}

/** Ratios of one side to another, turn by turn. */
export function turnRatios(
  side: SideSummary,
  base: SideSummary,
  value: (round: Round) => number,
): number[] {
  return side.rounds.map((round, turn) => value(round) / value(base.rounds[turn] as Round));
}

export function sideFailures(summaries: readonly SideSummary[]): string[] {
  return summaries.flatMap(({ name, errors }) => failuresOf(name, errors));
}
