// Alternates rounds of several servers under the same load: waits for a quiet machine before each, and
// repeats disturbed rounds, all within bounds.
//
// A round is one run of the load against one side. A turn is one round of every side, one after the other.
// What a disturbed and a generator-bound round is, judge-round.ts says.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Generator } from '../load/generator.ts';
import { LatencyHistogram } from '../load/latency-histogram.ts';
import type { LoadOptions } from '../load/load-run.ts';
import type { LoadResult } from '../load/run-load.ts';
import { foreignMs, usedMs } from '../machine/cpu-account.ts';
import { judgePacedRound, judgeRound, type RoundShares, type Verdict } from './judge-round.ts';
import { type Patience, waitUntilIdle } from './patience.ts';
import { median } from './statistics.ts';

/** Server that takes turns with others. */
export type Side = {
  readonly name: string;
  readonly load: LoadOptions;
  /** Processes that answer. */
  readonly serverPids: readonly number[];
  /** Processes that the server started for other work, on the other processors. */
  readonly backgroundPids: readonly number[];
  /** Status that every answer must have; answers with any other count as errors. */
  readonly expected: number;
};

export type Round = {
  readonly verdict: Verdict;
  readonly shares: RoundShares;
  readonly rps: number;
  /** CPU time of the processes that answer, in microseconds per request. */
  readonly cpuUs: number;
  /** CPU time of the server's other processes, in microseconds per request. */
  readonly backgroundUs: number;
  /** CPU time of the generator's work, in microseconds per request. */
  readonly generatorUs: number;
  readonly generatorShare: number;
  /**
   * Share of the time for which the host kept the generator from running. Only the open loop, which sends at
   * fixed times, measures it.
   */
  readonly lostShare: number;
  readonly latency: LatencyHistogram;
  /** Number of errors by kind, unexpected statuses among them. */
  readonly errors: Readonly<Record<string, number>>;
  readonly responses: number;
};

/** Summary of one side's rounds. Sides that were alternated are summarised over the same turns. */
export type SideSummary = {
  readonly rounds: readonly Round[];
  readonly rejected: number;
  /** True when a round of every turn was disturbed, and the summary had to be made of all rounds. */
  readonly isDisturbed: boolean;
  readonly rps: number;
  readonly cpuUs: number;
  readonly backgroundUs: number;
  readonly generatorUs: number;
  readonly serverShare: number;
  readonly generatorShare: number;
  /** True when the generator's processor was full first in any of the rounds. */
  readonly isGeneratorBound: boolean;
  readonly errors: Readonly<Record<string, number>>;
};

export type Repetition = {
  /** Number of undisturbed turns to measure. */
  readonly wanted: number;
  /** Maximum number of further turns, in place of disturbed ones. */
  readonly retries: number;
  readonly patience: Patience;
};

/**
 * Measures the sides one after the other, `wanted` times. When a round of any was disturbed, all are measured
 * again, at most `retries` times: rounds are compared with those next to them, because the machine's own
 * pace changes from minute to minute. Every other turn goes through the sides in reverse, so that none gains
 * from always being the first.
 */
export async function alternate(
  generator: Generator,
  sides: readonly Side[],
  { wanted, retries, patience }: Repetition,
): Promise<SideSummary[]> {
  const all = sides.map((): Round[] => []);
  const skipped = sides.map(({ load }) => load.skip ?? 0);
  for (let turn = 0; turn < wanted + retries; turn++) {
    if (goodTurns(all).length >= wanted) break;
    const order = [...sides.entries()];
    for (const [index, side] of turn % 2 === 0 ? order : order.reverse()) {
      await waitUntilIdle(patience);
      const { round, sent } = await measure(generator, side, skipped[index] as number);
      skipped[index] = (skipped[index] as number) + sent;
      all[index]?.push(round);
      await sleep(0);
    }
  }
  const turns = goodTurns(all);
  return all.map((rounds) => summarise(rounds, turns));
}

/** Numbers of the turns in which no side was disturbed. */
function goodTurns(sides: readonly (readonly Round[])[]): number[] {
  const turns = [...(sides[0]?.keys() ?? [])];
  return turns.filter((turn) => sides.every((rounds) => rounds[turn]?.verdict !== 'disturbed'));
}

/** Does one run and judges it. */
export async function measure(generator: Generator, side: Side, skip: number) {
  const result = await generator.run({ ...side.load, skip });
  return { round: judge(generator, side, result), sent: result.sent };
}

function judge(generator: Generator, side: Side, result: LoadResult): Round {
  const { begin, end } = result.cpu;
  const wallMs = end.at - begin.at;
  const used = (pids: readonly number[]) => usedMs(begin, end, pids);
  const others = Object.keys(end.processesMs)
    .map(Number)
    .filter((pid) => !side.serverPids.includes(pid) && pid !== generator.pid);
  const generatorMs = result.busyMs ?? used([generator.pid]);
  const shares = {
    server: used(side.serverPids) / wallMs,
    generatorSide: (used(others) + generatorMs) / wallMs,
    foreign: foreignMs(begin, end) / wallMs,
    stolen: (end.stolenMs - begin.stolenMs) / wallMs,
  };
  const perResponseUs = (ms: number) => (ms * 1000) / result.responses;
  return {
    verdict: side.load.rate === undefined ? judgeRound(shares) : judgePacedRound(shares),
    shares,
    rps: result.responses / result.seconds,
    cpuUs: perResponseUs(used(side.serverPids)),
    backgroundUs: perResponseUs(used(side.backgroundPids)),
    generatorUs: perResponseUs(generatorMs),
    generatorShare: generatorMs / wallMs,
    lostShare: result.lostMs / wallMs,
    latency: new LatencyHistogram(result.latency),
    errors: errorsOf(result, side.expected),
    responses: result.responses,
  };
}

function errorsOf(result: LoadResult, expected: number): Record<string, number> {
  const errors = { ...result.errors };
  for (const [status, count] of Object.entries(result.statuses)) {
    if (Number(status) !== expected) errors[`status ${status}`] = count;
  }
  return errors;
}

function summarise(rounds: readonly Round[], turns: readonly number[]): SideSummary {
  const good = rounds.filter((_, turn) => turns.includes(turn));
  const chosen = good.length > 0 ? good : rounds;
  const middle = (value: (round: Round) => number) => median(chosen.map(value));
  const errors: Record<string, number> = {};
  for (const round of rounds) {
    for (const [kind, count] of Object.entries(round.errors)) {
      errors[kind] = (errors[kind] ?? 0) + count;
    }
  }
  return {
    rounds: chosen,
    rejected: rounds.length - good.length,
    isDisturbed: good.length === 0,
    rps: middle(({ rps }) => rps),
    cpuUs: middle(({ cpuUs }) => cpuUs),
    backgroundUs: middle(({ backgroundUs }) => backgroundUs),
    generatorUs: middle(({ generatorUs }) => generatorUs),
    serverShare: middle(({ shares }) => shares.server),
    generatorShare: middle(({ generatorShare }) => generatorShare),
    isGeneratorBound: chosen.some(({ verdict }) => verdict === 'generator-bound'),
    errors,
  };
}

/** Ratio of one side to another that took turns with it: the median of the turns' own ratios. */
export function ratioOf(
  side: SideSummary,
  base: SideSummary,
  value: (round: Round) => number,
): number {
  return median(side.rounds.map((round, turn) => value(round) / value(base.rounds[turn] as Round)));
}

/** Percentile of the latencies in microseconds: the median of the rounds' own. */
export function percentileUs(summary: SideSummary, share: number): number {
  return median(summary.rounds.map(({ latency }) => latency.percentileUs(share)));
}

/** Errors of any side, as the reason why the run does not count; nothing without errors. */
export function failureOf(summaries: readonly SideSummary[]): { failure?: string } {
  const errors = summaries.map((summary) => summary.errors);
  const isClean = errors.every((each) => Object.keys(each).length === 0);
  return isClean ? {} : { failure: JSON.stringify(errors) };
}
