// Compares two services in one scenario: starts both anew several times, and alternates rounds between them
// after each start.

import type { ServingNode } from '../../test/support/node.ts';
import type { Generator } from '../load/generator.ts';
import type { Question } from '../load/question.ts';
import { placeNode } from '../machine/place-process.ts';
import { meetFleet, sideOf, warmSide } from '../measure/closed-loop.ts';
import type { Patience } from '../measure/patience.ts';
import { type RatioInterval, ratioInterval } from '../measure/ratio-interval.ts';
import { alternate, type Round, type Side, type SideSummary } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import { countSettled } from '../service/bench-service.ts';
import { askFirst } from '../service/probe.ts';
import { CONNECTIONS, meetingsOf, type Scenario } from '../service/scenarios.ts';
import { differingShare } from './answers.ts';
import type { ServicePair } from './service-pair.ts';

export type ComparePace = {
  /** Number of times that both services are started anew. */
  readonly starts: number;
  /** Minimum number of starts, measured even after the time is up. */
  readonly startsMin: number;
  /** Number of turns after each start, and maximum number of further ones in place of disturbed ones. */
  readonly turns: number;
  readonly retries: number;
  /** Length of a round, of the load before each, and of the load after a start until all is compiled. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly settleSeconds: number;
  /** Number of checks whose answers are compared. */
  readonly probes: number;
};

/** Figures of a scenario as they stand in the JSON file; ratios are the present tree by the other commit. */
export type ScenarioComparison = {
  readonly name: string;
  /** Ratio of the CPU time per request of the serving process. */
  readonly cpu: RatioInterval;
  /** Ratio of the requests a second. */
  readonly rate: RatioInterval;
  readonly starts: number;
  readonly turns: number;
  readonly rejectedTurns: number;
  readonly present: SideFigures;
  readonly other: SideFigures;
  /** Lines on these figures in particular. */
  readonly remarks: readonly string[];
  readonly errors: Readonly<Record<string, number>>;
};

/** Medians over all turns of one side. */
type SideFigures = {
  readonly rps: number;
  readonly cpuUsPerRequest: number;
  readonly serverShare: number;
};

/** Turns after one start: rounds with the same place in both lists are of the same turn. */
type Start = { readonly present: SideSummary; readonly other: SideSummary };

/**
 * Maximum share of n answers that may differ because cohorts are drawn by chance, multiplied by the root of
 * n.
 */
const DIFFERING_BY_CHANCE = 2.5;

/** Measures one scenario; after `secondsMax` no further start begins. */
export async function compareScenario(
  pair: ServicePair,
  generator: Generator,
  scenario: Scenario,
  pace: ComparePace,
  patience: Patience,
  secondsMax: number,
): Promise<ScenarioComparison> {
  const deadline = performance.now() + secondsMax * 1000;
  const starts: Start[] = [];
  let settled = 0;
  let differing = 0;
  while (starts.length < pace.starts) {
    if (starts.length >= pace.startsMin && performance.now() > deadline) break;
    await pair.restart();
    const nodes = pair.nodes();
    if (starts.length === 0) differing = await compareAnswers(nodes, scenario, pace.probes);
    const meetings = meetingsOf(scenario, starts.length === 0);
    const sides: Side[] = [];
    for (const [place, node] of nodes.entries()) {
      const side = sideFor(node, questionOf(scenario, place), scenario, pace);
      await meetFleet(generator, side, patience, meetings);
      sides.push(await warmSide(generator, side, pace.settleSeconds));
    }
    // The side that goes first changes with every start, as it does with every turn.
    const isReversed = starts.length % 2 === 1;
    const ordered = isReversed ? sides.toReversed() : sides;
    const options = { wanted: pace.turns, retries: pace.retries, patience };
    const summaries = await alternate(generator, ordered, options);
    const [present, other] = isReversed ? summaries.toReversed() : summaries;
    if (present === undefined || other === undefined) throw new Error('a side was not measured');
    starts.push({ present, other });
    for (const node of nodes) settled += await countSettled(node);
  }
  const differingMax = scenario.hasCohort ? DIFFERING_BY_CHANCE / Math.sqrt(pace.probes) : 0;
  return comparisonOf(scenario.name, starts, [
    ...(starts.length < pace.starts ? [`time for ${starts.length} starts only`] : []),
    ...(settled === 0 ? [] : [`of devices that ask too often, ${settled} requests went to Redis`]),
    ...(differing <= differingMax
      ? []
      : [`the two answer differently: ${Math.round(differing * 100)} % of the answers`]),
  ]);
}

/** Returns what a side asks: the present tree is in the first place, the other commit in the second. */
function questionOf({ question, beside = question }: Scenario, place: number): Question {
  return place === 0 ? question : beside;
}

function sideFor(
  node: ServingNode,
  question: Question,
  { expected }: Scenario,
  pace: ComparePace,
): Side {
  const { pid } = node.process;
  const server = {
    port: Number(new URL(node.url).port),
    pids: [pid],
    backgroundPids: placeNode(pid),
  };
  const { seconds, warmupSeconds } = pace;
  const loop = { question, connections: CONNECTIONS, expected, seconds, warmupSeconds };
  return sideOf(String(pid), server, { ...loop, isAwake: true });
}

async function compareAnswers(
  nodes: readonly ServingNode[],
  scenario: Scenario,
  count: number,
): Promise<number> {
  const [present = [], other = []] = await Promise.all(
    nodes.map(({ url }, place) => askFirst(url, questionOf(scenario, place), count)),
  );
  return differingShare(present, other);
}

function comparisonOf(
  name: string,
  starts: readonly Start[],
  remarks: readonly string[],
): ScenarioComparison {
  const sides = starts.flatMap(({ present, other }) => [present, other]);
  const isDisturbed = sides.some((side) => side.isDisturbed);
  const isBound = sides.some((side) => side.isGeneratorBound);
  const errors: Record<string, number> = {};
  for (const side of sides) {
    for (const [kind, count] of Object.entries(side.errors)) {
      errors[kind] = (errors[kind] ?? 0) + count;
    }
  }
  return {
    name,
    cpu: intervalOf(starts, ({ cpuUs }) => cpuUs),
    rate: intervalOf(starts, ({ rps }) => rps),
    starts: starts.length,
    turns: starts.reduce((sum, { present }) => sum + present.rounds.length, 0),
    rejectedTurns: starts.reduce((sum, { present }) => sum + present.rejected, 0),
    present: figuresOf(starts.map(({ present }) => present)),
    other: figuresOf(starts.map(({ other }) => other)),
    remarks: [
      ...(isDisturbed ? ['after some starts every turn was disturbed'] : []),
      ...(isBound ? ['the generator was the bottleneck: requests/s do not count'] : []),
      ...remarks,
    ],
    errors,
  };
}

function intervalOf(starts: readonly Start[], value: (round: Round) => number): RatioInterval {
  return ratioInterval(
    starts.map(({ present, other }) =>
      present.rounds.map((round, turn) => value(round) / value(other.rounds[turn] as Round)),
    ),
  );
}

function figuresOf(summaries: readonly SideSummary[]): SideFigures {
  const rounds = summaries.flatMap((summary) => summary.rounds);
  return {
    rps: Math.round(median(rounds.map(({ rps }) => rps))),
    cpuUsPerRequest: median(rounds.map(({ cpuUs }) => cpuUs)),
    serverShare: median(rounds.map(({ shares }) => shares.server)),
  };
}
