// Measures update checks on the present tree beside another commit of this repository, in turns, by the load
// generator of the present tree: starts both anew several times, and alternates rounds between them after
// each start. Devices of the present tree may be answered by an edge of its service.

import { Option } from 'commander';
import { makeEdgeToken, startEdge } from '../../test/support/edge-node.ts';
import type { Benchmark } from '../benchmark.ts';
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
import { intervalText, median, ratioInterval } from '../measure/statistics.ts';
import { failuresOf, type Report, type Row } from '../report.ts';
import {
  type Deployment,
  readMetrics,
  settledRemarks,
  withDeployment,
} from '../service/deployment.ts';
import { publishApps } from '../service/fixed-releases.ts';
import { meetingsOf, SCENARIO_APPS, type Scenario } from '../service/scenarios.ts';
import { SCENARIO_OPTION, scenariosOf } from './check.ts';
import { checkOut, commitOf, ROOT, startArguments } from './checkout.ts';

const PACE = {
  /** Numbers of times that both are started anew, and at least, even after the time is up. */
  ...{ starts: 6, startsMin: 3, turns: { wanted: 3, retries: 1 } },
  /** Length of a round, of the load before each, and of the load after a start until all is compiled. */
  ...{ seconds: 0.4, warmupSeconds: 0.1, settleSeconds: 1 },
  probes: 2000,
  /** Longest waits for a quiet machine, in all and at once: recording many check-ins takes a while. */
  waitsMs: [60_000, 20_000] as [number, number],
};
/** Pace with an edge, which hands its check-ins over twice a second: each round must have some of that. */
const EDGE_PACE = { ...PACE, turns: { wanted: 2, retries: 1 }, seconds: 2, warmupSeconds: 0.5 };
const SMOKE: typeof PACE = {
  ...{ starts: 2, startsMin: 2, turns: { wanted: 1, retries: 0 }, seconds: 0.2 },
  ...{ warmupSeconds: 0.1, settleSeconds: 0.2, probes: 200, waitsMs: [0, 0] },
};
/** Time that all scenarios share; each makes its smallest number of starts even when that takes longer. */
const SECONDS_MAX = 400;
const USUAL_ON_EDGE = ['full', '20 %', 'labels'];
const USUAL = [...USUAL_ON_EDGE, 'version flood'];
/** Any key will do: edges cannot follow a service without one. */
const SECRET_KEY = 'a key of the benchmarks';
/** Maximum share of n answers that may differ because of random cohorts, multiplied by the root of n. */
const DIFFERING_BY_CHANCE = 2.5;

export const compare: Benchmark = {
  name: 'compare',
  title: 'update checks on the present tree beside those on another commit',
  argument: '<ref>',
  options: [SCENARIO_OPTION, new Option('--edge', 'the present tree answers on an edge of it')],
  reading: [
    'cpu: CPU per request of the serving process, present by other: below 1 the present tree needs less.',
    '95 %: its t interval over the starts, each with the median of its turns; us: the CPU in microseconds.',
    'rate: present by other in requests/s, for information. rejected: turns in which other processes worked.',
  ],
  async run(given) {
    const isOnEdge = given.options.edge === true;
    const list = scenariosOf(given, isOnEdge ? USUAL_ON_EDGE : USUAL);
    const commit = commitOf(given.ref);
    const usual = isOnEdge ? EDGE_PACE : PACE;
    const checkout = checkOut(commit);
    try {
      return await withDeployment({ isPlaced: true, fsync: false }, async (deployment) => {
        await startPair(deployment, [ROOT, checkout.folder], isOnEdge);
        const compared = await compareAll(deployment, list, given.isSmoke ? SMOKE : usual);
        return reportOf(commit, compared, deployment.isPinned);
      });
    } finally {
      checkout.remove();
    }
  },
};

/** Starts a node of each build, on stores of its own, with the same releases, and an edge of the first. */
async function startPair(deployment: Deployment, folders: readonly string[], isOnEdge: boolean) {
  for (const folder of folders) {
    const settings = { ...(await deployment.startStores()), SECRET_KEY };
    await publishApps(await deployment.startNode(settings, startArguments(folder)), SCENARIO_APPS);
  }
  if (!isOnEdge) return;
  const upstream = deployment.node;
  const { secret } = await makeEdgeToken(upstream);
  deployment.nodes[0] = await startEdge(upstream.url, secret);
  deployment.isHandedOver = async () =>
    (await readMetrics(deployment.node))('sluice_check_in_queue_entries') === 0;
  const end = async () => {
    await deployment.node.dispose();
    await upstream.dispose();
  };
  deployment.keep({ end });
}

async function compareAll(deployment: Deployment, list: readonly Scenario[], pace: typeof PACE) {
  const measuring = { deployment, pace, comparison: deployment.comparison(...pace.waitsMs) };
  const all: Compared[] = [];
  const deadline = performance.now() + SECONDS_MAX * 1000;
  for (const [index, scenario] of list.entries()) {
    console.error(`  ${scenario.name} …`);
    const ms = (deadline - performance.now()) / (list.length - index);
    const compared = await compareScenario(measuring, scenario, ms);
    all.push(compared);
    // Told at once: a comparison that is broken off later has not been in vain.
    console.error(`    cpu ${compared.cpu.ratio.toFixed(3)} (${intervalText(compared.cpu)})`);
  }
  return all;
}

type Measuring = { deployment: Deployment; comparison: Comparison; pace: typeof PACE };

type Start = readonly [SideSummary, SideSummary];

/** Figures of a scenario as they stand in the JSON file; ratios are the present tree by the other commit. */
type Compared = ReturnType<typeof comparedOf>;

/** Measures one scenario; after `msMax` no further start begins. */
async function compareScenario(measuring: Measuring, scenario: Scenario, msMax: number) {
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

function reportOf(commit: string, comparisons: readonly Compared[], isPinned: boolean): Report {
  return {
    tables: [{ rows: comparisons.map(rowOf) }],
    remarks: [
      ...(isPinned ? [] : ['Nothing was pinned (no taskset, or one processor).']),
      ...comparisons.flatMap(({ name, remarks }) => remarks.map((remark) => `${name}: ${remark}`)),
    ],
    json: { compare: { commit, comparisons } },
    failures: comparisons.flatMap(({ name, errors, cpu }) => [
      ...failuresOf(name, errors),
      ...(Number.isNaN(cpu.ratio) ? [`${name}: no CPU times on this system`] : []),
    ]),
  };
}

function rowOf({ name, cpu, rate, present, other, starts, turns, rejectedTurns }: Compared): Row {
  return {
    ...{ scenario: name, cpu: cpu.ratio.toFixed(3), '95 %': intervalText(cpu) },
    ...{ 'present us': present.cpuUsPerRequest, 'other us': other.cpuUsPerRequest },
    ...{ rate: rate.ratio.toFixed(3), 'present/s': present.rps, 'other/s': other.rps },
    ...{ starts, turns, rejected: rejectedTurns },
  };
}
