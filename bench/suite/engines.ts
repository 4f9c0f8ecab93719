// Compares the two HTTP engines on one build: a node on node:http beside one on uWebSockets.js, of which each
// has stores of its own with the same releases.

import { engineOfRun } from '../../test/support/base-environment.ts';
import { intervalText } from '../measure/statistics.ts';
import { failuresOf, type Report } from '../report.ts';
import { type Deployment, withDeployment } from '../service/deployment.ts';
import { publishApps } from '../service/fixed-releases.ts';
import { SCENARIO_APPS, type Scenario } from '../service/scenarios.ts';
import { type Compared, compareScenario, type Pace } from './pair.ts';

/** Times the CPU of uWebSockets.js that node:http may take for a check; bare servers differ by 1.7. */
const CPU_RATIO_MAX = 2;
const PACE: Pace = {
  ...{ starts: 4, startsMin: 3, turns: { wanted: 3, retries: 1 }, probes: 2000 },
  ...{ seconds: 0.4, warmupSeconds: 0.1, settleSeconds: 1 },
};
const SMOKE: Pace = {
  ...{ starts: 1, startsMin: 1, turns: { wanted: 1, retries: 0 }, probes: 200 },
  ...{ seconds: 0.2, warmupSeconds: 0.1, settleSeconds: 0.2 },
};
/** Longest waits for a quiet machine, in all and at once. */
const WAITS_MS = [60_000, 20_000] as const;
const MS_MAX = 120_000;
/** Any key will do: publishing does not ask for another. */
const SECRET_KEY = 'a key of the benchmarks';

type EnginesReport = Pick<Report, 'tables' | 'remarks' | 'failures'> & {
  readonly json: Readonly<Record<string, unknown>>;
};

/** Measures a scenario on both engines; only says so where this machine has but one. */
export async function compareEngines(scenario: Scenario, isSmoke: boolean): Promise<EnginesReport> {
  const { name, reason } = await engineOfRun();
  if (name === 'node') {
    const remark = `engines: node:http alone, since ${reason}`;
    return { tables: [], remarks: [remark], failures: [], json: {} };
  }
  console.error('  engines …');
  const compared = await withDeployment({ isPlaced: true, fsync: false }, async (deployment) => {
    for (const HTTP_ENGINE of ['node', 'uws']) await startOn(deployment, HTTP_ENGINE);
    const waits = isSmoke ? [0, 0] : WAITS_MS;
    const comparison = deployment.comparison(waits[0] ?? 0, waits[1]);
    const pace = isSmoke ? SMOKE : PACE;
    return compareScenario({ deployment, comparison, pace }, scenario, MS_MAX);
  });
  return reportOf(compared);
}

async function startOn(deployment: Deployment, HTTP_ENGINE: string): Promise<void> {
  const stores = await deployment.startStores();
  const node = await deployment.startNode({ ...stores, SECRET_KEY, HTTP_ENGINE });
  await publishApps(node, SCENARIO_APPS);
}

function reportOf(compared: Compared): EnginesReport {
  const { name, cpu, present, other, starts, rejectedTurns, remarks, errors } = compared;
  const row = {
    ...{ scenario: name, cpu: cpu.ratio.toFixed(2), '95 %': intervalText(cpu) },
    ...{ 'target at most': CPU_RATIO_MAX.toFixed(1) },
    ...{ 'node us': present.cpuUsPerRequest, 'uws us': other.cpuUsPerRequest },
    ...{ 'node/s': present.rps, 'uws/s': other.rps, starts, rejected: rejectedTurns },
  };
  return {
    tables: [
      { title: 'engines: CPU for a check on node:http by that on uWebSockets.js', rows: [row] },
    ],
    remarks: remarks.map((remark) => `engines: ${remark}`),
    failures: failuresOf('engines', errors),
    json: { engines: compared },
  };
}
