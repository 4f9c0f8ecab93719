// Alternated rounds of several servers under the same load: waits for a quiet machine before each, throws
// away those that were disturbed and does them again, all within bounds.

import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../report.ts';
import { foreignMs, idleShare, usedMs } from './cpu-account.ts';
import type { Generator } from './generator.ts';
import { judgePacedRound, judgeRound, type RoundShares, type Verdict } from './judge-round.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import type { LoadOptions, LoadResult } from './load-run.ts';
import type { Recording } from './recording.ts';

/** One of the servers that take turns. */
export type Side = {
  readonly name: string;
  readonly load: LoadOptions;
  /** The processes that answer. */
  readonly serverPids: readonly number[];
  /** Processes that the server started, on the other processor. */
  readonly backgroundPids: readonly number[];
  /** Answers with any other status are errors. */
  readonly expected: number;
};

export type Round = {
  readonly verdict: Verdict;
  readonly shares: RoundShares;
  readonly rps: number;
  /** Of the server's own processor time, in microseconds. */
  readonly cpuUs: number;
  readonly backgroundUs: number;
  /** Of the generator's work, likewise. */
  readonly generatorUs: number;
  readonly generatorShare: number;
  /** In the open loop: of the time, what the generator was kept from running. */
  readonly lostShare: number;
  readonly latency: LatencyHistogram;
  /** Errors by kind, unexpected statuses among them. */
  readonly errors: Readonly<Record<string, number>>;
  readonly responses: number;
};

/** What the rounds of one side come to; those of sides that took turns are of the same turns. */
export type SideSummary = {
  readonly rounds: readonly Round[];
  readonly rejected: number;
  /** Whether every round was disturbed, and the summary is of those all the same. */
  readonly isDisturbed: boolean;
  readonly rps: number;
  readonly cpuUs: number;
  readonly backgroundUs: number;
  readonly generatorUs: number;
  readonly serverShare: number;
  readonly generatorShare: number;
  readonly isGeneratorBound: boolean;
  readonly errors: Readonly<Record<string, number>>;
};

/** How long a whole benchmark may wait for a quiet machine, shared by its rounds. */
export type Patience = {
  leftMs: number;
  readonly perRoundMs: number;
  /** Waits in vain so far, one after the other: on a machine that stays busy, each halves the next. */
  inVain: number;
  /** What an idle moment is not enough for: work that rests and goes on. */
  readonly recording: Pick<Recording, 'isDone' | 'spread' | 'place'>;
};

const IDLE_WANTED = 0.96;
const IDLE_WINDOW_MS = 250;

/** Waits until nothing is left to do and the machine is idle, or patience is at its end; whether it is. */
export async function waitUntilIdle(patience: Patience): Promise<boolean> {
  const begin = performance.now();
  const waitMs = Math.min(patience.perRoundMs / 2 ** patience.inVain, patience.leftMs);
  if (waitMs <= 0) return false;
  const { recording } = patience;
  try {
    for (;;) {
      const isIdle = !((await idleShare(IDLE_WINDOW_MS)) < IDLE_WANTED);
      if (isIdle && (await recording.isDone())) {
        patience.inVain = 0;
        return true;
      }
      const elapsed = performance.now() - begin;
      if (elapsed >= waitMs) {
        patience.leftMs -= elapsed;
        patience.inVain += 1;
        return false;
      }
      recording.spread();
    }
  } finally {
    recording.place();
  }
}

/** Waits at most this long in all, and this long before a round; nothing at all in a quick pass. */
export function patienceOf(
  isSmoke: boolean,
  leftMs: number,
  perRoundMs: number,
  recording: Patience['recording'],
): Patience {
  const [left, perRound] = isSmoke ? [0, 0] : [leftMs, perRoundMs];
  return { leftMs: left, perRoundMs: perRound, inVain: 0, recording };
}

/**
 * Measures the sides one after the other, `wanted` times. When a round of any was disturbed, all are measured
 * again, at most `retries` times: rounds are compared with those next to them, because the machine's own
 * pace changes from minute to minute.
 */
export async function alternate(
  generator: Generator,
  sides: readonly Side[],
  options: { readonly wanted: number; readonly retries: number; readonly patience: Patience },
): Promise<SideSummary[]> {
  const all = sides.map((): Round[] => []);
  const skipped = sides.map(({ load }) => load.skip ?? 0);
  for (let turn = 0; turn < options.wanted + options.retries; turn++) {
    if (goodTurns(all).length >= options.wanted) break;
    for (const [index, side] of sides.entries()) {
      await waitUntilIdle(options.patience);
      const { round, sent } = await measure(generator, side, skipped[index] as number);
      skipped[index] = (skipped[index] as number) + sent;
      all[index]?.push(round);
      await sleep(0);
    }
  }
  const turns = goodTurns(all);
  return all.map((rounds) => summarise(rounds, turns));
}

/** The turns in which no side was disturbed. */
function goodTurns(sides: readonly (readonly Round[])[]): number[] {
  const turns = [...(sides[0]?.keys() ?? [])];
  return turns.filter((turn) => sides.every((rounds) => rounds[turn]?.verdict !== 'disturbed'));
}

/** One run, judged. */
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

/** How one side compares with another that took turns with it: the median of the turns' own ratios. */
export function ratioOf(
  side: SideSummary,
  base: SideSummary,
  value: (round: Round) => number,
): number {
  return median(side.rounds.map((round, turn) => value(round) / value(base.rounds[turn] as Round)));
}

/** A percentile in microseconds: the median of the rounds' own. */
export function percentileUs(summary: SideSummary, share: number): number {
  return median(summary.rounds.map(({ latency }) => latency.percentileUs(share)));
}
