// Measures update checks on the present tree beside another commit of this repository, in turns, by the load
// generator of the present tree: starts both anew several times, and alternates rounds between them after
// each start. Devices of the present tree may be answered by an edge of its service.

import { Option } from 'commander';
import { makeEdgeToken, startEdge } from '../../test/support/edge-node.ts';
import type { Benchmark } from '../benchmark.ts';
import { intervalText } from '../measure/statistics.ts';
import { failuresOf, type Report, type Row } from '../report.ts';
import { type Deployment, readMetrics, withDeployment } from '../service/deployment.ts';
import { publishApps } from '../service/fixed-releases.ts';
import { SCENARIO_APPS, type Scenario } from '../service/scenarios.ts';
import { SCENARIO_OPTION, scenariosOf } from './check.ts';
import { checkOut, commitOf, ROOT, startArguments } from './checkout.ts';
import { type Compared, compareScenario } from './pair.ts';

const PACE = {
  ...{ starts: 6, startsMin: 3, turns: { wanted: 3, retries: 1 } },
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
