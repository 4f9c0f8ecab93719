// Measures update checks on the first two nodes of a deployment, in turns: starts both anew several times,
// and alternates rounds between them after each start.

import { askFirst, differingShare } from '../load/ask.ts';
import type { Question } from '../load/question.ts';
import {
  added,
  type Comparison,
  type Round,
  type Side,
  type SideSummary,
  sideOf,
  turnRatios,
} from '../measure/comparison.ts';
import { median, ratioInterval } from '../measure/statistics.ts';
import { type Deployment, settledRemarks } from '../service/deployment.ts';
import { meetingsOf, type Scenario } from '../service/scenarios.ts';

/** Maximum share of n answers that may differ because of random cohorts, multiplied by the root of n. */
const DIFFERING_BY_CHANCE = 2.5;

/** How often both nodes are started and loaded, and for how long. */
export type Pace = {
  /** Numbers of times that both are started anew, and at least, even after the time is up. */
  readonly starts: number;
  readonly startsMin: number;
  readonly turns: { readonly wanted: number; readonly retries: number };
  /** Length of a round, of the load before each, and of the load after a start until all is compiled. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly settleSeconds: number;
  readonly probes: number;
};

export type Measuring = {
  readonly deployment: Deployment;
  readonly comparison: Comparison;
  readonly pace: Pace;
};

type Start = readonly [SideSummary, SideSummary];

/** Figures of a scenario as they stand in the JSON file; ratios are the first node by the second. */
export type Compared = ReturnType<typeof comparedOf>;

/** Measures one scenario on both nodes; after `msMax` no further start begins. */
export async function compareScenario(
  measuring: Measuring,
  scenario: Scenario,
  msMax: number,
): Promise<Compared> {
  const { deployment, pace } = measuring;
  const { name, question, beside = question, hasCohort = false } = scenario;
  const questions = [question, beside];
  const deadline = performance.now() + msMax;
  const starts: Start[] = [];
  const remarks = new Set<string>();
  while (starts.length < pace.starts) {
    if (starts.length >= pace.startsMin && performance.now() > deadline) {
      remarks.add(`time for ${starts.length} starts only`);
      break;
    }
    await deployment.restart();
    if (starts.length === 0) {
      const differing = await compareAnswers(deployment, questions, pace.probes);
      const differingMax = hasCohort ? DIFFERING_BY_CHANCE / Math.sqrt(pace.probes) : 0;
      const text = `the two answer differently: ${Math.round(differing * 100)} % of the answers`;
      if (differing > differingMax) remarks.add(text);
    }
    starts.push(await measureStart(measuring, scenario, questions, starts.length));
    for (const remark of await settledRemarks(deployment.nodes)) remarks.add(remark);
  }
  return comparedOf(name, starts, [...remarks]);
}

async function compareAnswers({ nodes }: Deployment, questions: readonly Question[], n: number) {
  const asked = questions.map((each, place) => askFirst(nodes[place]?.url ?? '', each, n));
  const [present = [], other = []] = await Promise.all(asked);
  return differingShare(present, other);
}

/** Measures both after a start. The side that goes first changes with every start, as with every turn. */
async function measureStart(
  { deployment, comparison, pace }: Measuring,
  scenario: Scenario,
  questions: readonly Question[],
  start: number,
): Promise<Start> {
  const { seconds, warmupSeconds, settleSeconds } = pace;
  const { expected, isOneRequest = false } = scenario;
  const sides: Side[] = [];
  for (const [place, question] of questions.entries()) {
    const loop = { question, expected, seconds, warmupSeconds, isAwake: true, isOneRequest };
    const side = sideOf(String(place), deployment.place(deployment.nodes[place]), loop);
    await comparison.meet(side, meetingsOf(scenario, start === 0));
    sides.push(await comparison.warm(side, settleSeconds));
  }
  const isReversed = start % 2 === 1;
  const ordered = isReversed ? sides.toReversed() : sides;
  const summaries = await comparison.alternate(ordered, pace.turns);
  const [present, other] = isReversed ? summaries.toReversed() : summaries;
  if (present === undefined || other === undefined) throw new Error('a side was not measured');
  return [present, other];
}

function comparedOf(name: string, starts: readonly Start[], remarks: readonly string[]) {
  const sides = starts.flat();
  const ratio = (value: (round: Round) => number) =>
    ratioInterval(starts.map(([present, other]) => turnRatios(present, other, value)));
  const first = starts.map(([present]) => present);
  const isBound = sides.some((side) => side.isGeneratorBound);
  return {
    ...{ name, cpu: ratio(({ cpuUs }) => cpuUs), rate: ratio(({ rps }) => rps) },
    starts: starts.length,
    turns: first.reduce((sum, { rounds }) => sum + rounds.length, 0),
    rejectedTurns: first.reduce((sum, { rejected }) => sum + rejected, 0),
    ...{ present: figuresOf(first), other: figuresOf(starts.map(([, other]) => other)) },
    remarks: [
      ...(sides.some((side) => side.isDisturbed) ? ['after some starts all was disturbed'] : []),
      ...(isBound ? ['the generator was the bottleneck: requests/s do not count'] : []),
      ...remarks,
    ],
    errors: added(sides.map(({ errors }) => errors)),
  };
}

function figuresOf(summaries: readonly SideSummary[]) {
  const rounds = summaries.flatMap((summary) => summary.rounds);
  return {
    rps: Math.round(median(rounds.map(({ rps }) => rps))),
    cpuUsPerRequest: median(rounds.map(({ cpuUs }) => cpuUs)),
    serverShare: median(rounds.map(({ serverShare }) => serverShare)),
  };
}
