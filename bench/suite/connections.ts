// Compares checks that have a connection each, through TLS at HAProxy, with a bare server that is asked in
// the same way, for both ways in which HAProxy may use its connections to the server; then measures a fleet
// that keeps its connections open. `check` has the same checks without HAProxy.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from '../benchmark.ts';
import { probe } from '../load/ask.ts';
import { LatencyHistogram } from '../load/latency-histogram.ts';
import type { LoadResult } from '../load/run-load.ts';
import { connectionsMax, residentBytes, usedMs } from '../machine/processes.ts';
import {
  errorsOf,
  type Side,
  type SideSummary,
  sideFailures,
  sideOf,
  turnRatios,
} from '../measure/comparison.ts';
import { intervalText, ratioInterval } from '../measure/statistics.ts';
import { failuresOf, percentileColumns, type Report, type Row } from '../report.ts';
import { type Reuse, startBalancer } from '../servers/start-balancer.ts';
import { type Deployment, withScenarios } from '../service/deployment.ts';
import { OWN_CONNECTION, type Scenario, scenarios } from '../service/scenarios.ts';

const REUSES: readonly Reuse[] = ['safe', 'always'];
type Pair = [number, number];
const BALANCED = {
  ...{ turns: { wanted: 7, retries: 2 }, seconds: 1, warmupSeconds: 0.2 },
  waitsMs: [45_000, 10_000] as Pair,
};
/** A second as well: connections begin at once, so that answers come in waves, a handshake of all apart. */
const BALANCED_SMOKE: typeof BALANCED = {
  ...{ turns: { wanted: 2, retries: 0 }, seconds: 1, warmupSeconds: 0.1, waitsMs: [0, 0] },
};
const KEPT = {
  // 7 s with a second of jitter each way: the service closes connections that were idle for 8 s.
  ...{ wanted: 20_000, gapMs: [6000, 8000] as Pair, seconds: 24, waitMs: 30_000 },
  /** Time in which a service that is not asked gives back the memory of the warm-up. */
  settleMs: 10_000,
};
const KEPT_SMOKE = {
  ...{ wanted: 500, gapMs: [600, 1000] as Pair, seconds: 2, waitMs: 0, settleMs: 0 },
};

export const connections: Benchmark = {
  name: 'connections',
  title: 'update checks with a connection each behind HAProxy, and on kept connections',
  reading: [
    'Behind HAProxy: cpu: CPU per check of the serving process, service by floor, with its 95 % interval',
    'over the turns; HAProxy us: CPU of HAProxy per check. Its http-reuse: safe opens a connection to the',
    'server for each client that connects, always sends checks over those that stand.',
  ],
  async run({ isSmoke }) {
    const scenario = scenarios(isSmoke).find(({ name }) => name === OWN_CONNECTION) as Scenario;
    const parts = [
      await measureBalanced(scenario, isSmoke ? BALANCED_SMOKE : BALANCED),
      await measureKept(scenario, isSmoke ? KEPT_SMOKE : KEPT),
    ];
    return {
      tables: parts.flatMap(({ tables }) => tables),
      remarks: parts.flatMap(({ remarks = [] }) => remarks),
      json: Object.assign({}, ...parts.map(({ json }) => json)),
      failures: parts.flatMap(({ failures = [] }) => failures),
    };
  },
};

async function measureBalanced(scenario: Scenario, pace: typeof BALANCED): Promise<Report> {
  console.error('  behind HAProxy …');
  return withScenarios(async (deployment) => {
    const summaries = await balance(deployment, scenario, pace);
    const rows = REUSES.map((reuse, index) => balancedRow(reuse, summaries.slice(index * 2)));
    const isDisturbed = summaries.some((summary) => summary.isDisturbed);
    return {
      tables: [{ title: 'behind HAProxy, which ends TLS: a connection for each check', rows }],
      remarks: isDisturbed ? ['behind HAProxy: every turn was disturbed'] : [],
      json: { balancer: rows },
      failures: sideFailures(summaries),
    };
  });
}

async function balance(deployment: Deployment, scenario: Scenario, pace: typeof BALANCED) {
  const { question, expected } = scenario;
  const { turns, seconds, warmupSeconds, waitsMs } = pace;
  const loop = { question, expected, seconds, warmupSeconds };
  const comparison = deployment.comparison(...waitsMs);
  const { first } = await probe(deployment.node.url, question, 1);
  const floor = await deployment.startServer('floor-server', first);
  const service = deployment.place();
  await comparison.meet(sideOf('service', service, loop));
  const sides: Side[] = [];
  for (const reuse of REUSES) {
    for (const [name, { port, pid }] of Object.entries({ floor, service })) {
      const balancer = deployment.keep(await startBalancer(port, reuse));
      const server = { port: balancer.port, pids: [pid], backgroundPids: [balancer.pid] };
      const asked = { ...loop, ...balancer.tls, isOneRequest: true };
      const side = sideOf(`${reuse} ${name}`, server, asked);
      sides.push(await comparison.warm(side, warmupSeconds * 10));
    }
  }
  return comparison.alternate(sides, turns);
}

function balancedRow(reuse: Reuse, [floor, service]: readonly SideSummary[]): Row {
  if (floor === undefined || service === undefined) throw new Error('a side was not measured');
  const ratios = turnRatios(service, floor, ({ cpuUs }) => cpuUs);
  const interval = ratioInterval(ratios.map((each) => [each]));
  return {
    ...{ 'http-reuse': reuse, 'floor us': floor.cpuUs, 'service us': service.cpuUs },
    ...{ cpu: interval.ratio, '95 %': intervalText(interval) },
    ...{ 'HAProxy us': service.backgroundUs, 'HAProxy us (floor)': floor.backgroundUs },
    ...{ 'service/s': Math.round(service.rps), 'floor/s': Math.round(floor.rps) },
    turns: ratios.length,
  };
}

/** Measures as many connections that are kept as are wanted, or as the system lets a process open. */
function measureKept({ question, expected }: Scenario, pace: typeof KEPT): Promise<Report> {
  const { wanted, gapMs, seconds, waitMs, settleMs } = pace;
  const count = Math.min(wanted, connectionsMax());
  console.error(`  ${count} open connections …`);
  return withScenarios(async (deployment) => {
    const { port, pid } = deployment.place();
    const comparison = deployment.comparison(waitMs);
    const loop = { question: { ...question, devices: count }, expected, seconds, gapMs };
    const asked = { ...loop, warmupSeconds: gapMs[1] / 1000 };
    const side = sideOf('service', { port, pids: [pid] }, asked);
    // The fleet asks once, so that the code is compiled and the memory of devices is in use before.
    const { gapMs: _, ...load } = side.load;
    await comparison.meet({ ...side, load });
    await sleep(settleMs);
    const before = residentBytes(pid);
    const kept = { ...side.load, connections: count, watchedRoot: pid };
    const result = await comparison.generator.run(kept);
    const errors = errorsOf(result, expected);
    const row = keptRow(result, pid, before, errors);
    const limit = `${count} connections instead of ${wanted}, because of the limit of open files`;
    return {
      tables: [{ title: 'connections that are kept, each asking every few seconds', rows: [row] }],
      remarks: count < wanted ? [`kept connections: ${limit} (ulimit -n)`] : [],
      json: { held: { ...row, errors } },
      failures: failuresOf('kept connections', errors),
    };
  });
}

function keptRow(
  { open, responses: answers, seconds, latency, cpu: { begin, end } }: LoadResult,
  pid: number,
  before: number,
  errors: Readonly<Record<string, number>>,
): Row {
  const histogram = new LatencyHistogram(latency);
  const after = end.residentBytes;
  return {
    ...{ open, answers, 'answers/s': Math.round(answers / seconds) },
    errors: Object.values(errors).reduce((sum, count) => sum + count, 0),
    ...percentileColumns((share) => histogram.percentileUs(share), 50, 99),
    'service us': (usedMs(begin, end, [pid]) * 1000) / answers,
    'bytes/connection': Math.round((after - before) / open),
    ...{ 'MB before': Math.round(before / 1e6), 'MB after': Math.round(after / 1e6) },
  };
}
