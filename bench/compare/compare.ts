// `npm run bench -- compare REF`: update checks on the present tree beside another commit of this repository,
// in turns, by the load generator of the present tree.

import { startGenerator } from '../load/generator.ts';
import { patienceOf } from '../measure/patience.ts';
import { intervalText } from '../measure/ratio-interval.ts';
import type { Report, Row } from '../measure/report.ts';
import { type Scenario, scenarios } from '../service/scenarios.ts';
import { type Checkout, checkOut } from './checkout.ts';
import { type ComparePace, compareScenario, type ScenarioComparison } from './compare-scenario.ts';
import { startServicePair } from './service-pair.ts';

export type CompareOptions = {
  /** Folder of the present tree, whose build is there. */
  readonly root: string;
  /** Full id of the commit to compare with. */
  readonly commit: string;
  readonly isSmoke: boolean;
  /** Beginning of the names of the scenarios to run; empty for those that matter most. */
  readonly scenario: string;
  /** Whether the present tree answers on an edge. */
  readonly isOnEdge: boolean;
};

const PACE: ComparePace = {
  starts: 6,
  startsMin: 3,
  turns: 3,
  retries: 1,
  seconds: 0.4,
  warmupSeconds: 0.1,
  settleSeconds: 1,
  probes: 2000,
};
/**
 * Pace with an edge, which hands its check-ins over twice a second: a round must be long enough to have its
 * part of that.
 */
const EDGE_PACE: ComparePace = { ...PACE, turns: 2, seconds: 2, warmupSeconds: 0.5 };
const SMOKE: ComparePace = {
  starts: 2,
  startsMin: 2,
  turns: 1,
  retries: 0,
  seconds: 0.2,
  warmupSeconds: 0.1,
  settleSeconds: 0.2,
  probes: 200,
};
/**
 * Time for all scenarios, which they share. Each makes its smallest number of starts even when that takes
 * longer: on a slow machine the four take about ten minutes with check-out and build.
 */
const SECONDS_MAX = 400;
/** Longest waits for a quiet machine, in all and before one round: recording many check-ins takes a while. */
const WAIT_MS = 60_000;
const WAIT_ONCE_MS = 20_000;

/** Beginnings of the names of the scenarios that run unless one is asked for. */
const USUAL = ['full', '20 %', 'labels', 'version flood'];
/** Beginnings of the names of those with an edge. */
const USUAL_ON_EDGE = ['full', '20 %', 'labels'];

export const COMPARE_EXPLANATION = [
  'cpu: CPU per request of the serving process, present by other: below 1 the present tree needs less.',
  '95 %: its t interval over the starts, each with the median of its turns; us: the CPU in microseconds.',
  'rate: present by other in requests/s, for information. rejected: turns in which other processes worked.',
];

/** Checks out the commit, compares and cleans up; rejects when it cannot measure. */
export async function compare(options: CompareOptions): Promise<Report> {
  const { root, commit } = options;
  console.error(`  check-out and build of ${commit.slice(0, 12)} …`);
  const checkout = checkOut(root, commit);
  try {
    const { comparisons, isPinned } = await compareWith(checkout, options);
    return { ...reportOf(comparisons, isPinned), json: { compare: { commit, comparisons } } };
  } finally {
    checkout.remove();
  }
}

async function compareWith({ folder }: Checkout, options: CompareOptions) {
  const { root, isSmoke, isOnEdge } = options;
  const pair = await startServicePair(root, folder, isOnEdge);
  const generator = startGenerator();
  const patience = patienceOf(isSmoke, WAIT_MS, WAIT_ONCE_MS, pair.recording);
  const comparisons: ScenarioComparison[] = [];
  const deadline = performance.now() + SECONDS_MAX * 1000;
  const list = chosen(options);
  const usual = isOnEdge ? EDGE_PACE : PACE;
  try {
    for (const [index, each] of list.entries()) {
      console.error(`  ${each.name} …`);
      const pace = isSmoke ? SMOKE : usual;
      const seconds = (deadline - performance.now()) / 1000 / (list.length - index);
      const comparison = await compareScenario(pair, generator, each, pace, patience, seconds);
      comparisons.push(comparison);
      // Told at once: a comparison that is broken off later has not been in vain.
      console.error(`    cpu ${comparison.cpu.ratio.toFixed(3)} (${intervalText(comparison.cpu)})`);
    }
  } finally {
    await generator.end();
    await pair.dispose();
  }
  return { comparisons, isPinned: pair.isPinned };
}

function chosen({ isSmoke, scenario, isOnEdge }: CompareOptions): Scenario[] {
  const usual = isOnEdge ? USUAL_ON_EDGE : USUAL;
  const beginnings = scenario === '' ? usual : [scenario];
  return scenarios(isSmoke).filter(({ name }) => beginnings.some((each) => name.startsWith(each)));
}

function reportOf(comparisons: readonly ScenarioComparison[], isPinned: boolean): Report {
  const failures = comparisons.flatMap(({ name, errors, cpu }) => [
    ...(Object.keys(errors).length === 0 ? [] : [`${name}: ${JSON.stringify(errors)}`]),
    ...(Number.isNaN(cpu.ratio) ? [`${name}: no CPU times on this system`] : []),
  ]);
  return {
    tables: [{ rows: comparisons.map(rowOf) }],
    remarks: [
      ...(isPinned ? [] : ['Nothing was pinned (no taskset, or one processor).']),
      ...comparisons.flatMap(({ name, remarks }) => remarks.map((remark) => `${name}: ${remark}`)),
    ],
    ...(failures.length === 0 ? {} : { failure: failures.join('; ') }),
  };
}

function rowOf({ name, cpu, rate, present, other, ...counts }: ScenarioComparison): Row {
  return {
    scenario: name,
    cpu: cpu.ratio.toFixed(3),
    '95 %': intervalText(cpu),
    'present us': present.cpuUsPerRequest,
    'other us': other.cpuUsPerRequest,
    rate: rate.ratio.toFixed(3),
    'present/s': present.rps,
    'other/s': other.rps,
    starts: counts.starts,
    turns: counts.turns,
    rejected: counts.rejectedTurns,
  };
}
