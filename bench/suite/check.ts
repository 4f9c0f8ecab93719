// Compares the service, with every rule on, with the floor: a server on uWebSockets.js of the same route and
// the same bytes that decides nothing. Both are measured in one run and in turns.

import { startGenerator } from '../load/generator.ts';
import { NOT_SENT } from '../load/run-load.ts';
import { patienceOf } from '../measure/patience.ts';
import type { Report, Row } from '../measure/report.ts';
import { startBenchService } from '../service/bench-service.ts';
import { insertScenarios, scenarios } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';
import { measureScenario, type Pace, type ScenarioReport } from './check/measure-scenario.ts';

const PACE: Pace = {
  // Many rounds, and short ones: other work of the host comes in bursts, which then do not reach the median.
  rounds: 5,
  retries: 1,
  seconds: 0.3,
  warmupSeconds: 0.1,
  pacedRounds: 11,
  pacedRetries: 2,
  probes: 2000,
};
const SMOKE: Pace = {
  rounds: 1,
  retries: 0,
  seconds: 0.3,
  warmupSeconds: 0.1,
  pacedRounds: 1,
  pacedRetries: 0,
  probes: 200,
};
/** Longest wait for a quiet machine: check-ins of a round are recorded for seconds after it. */
const WAIT_MS = 90_000;
const WAIT_PER_ROUND_MS = 30_000;

export const check: Benchmark = {
  name: 'check',
  title:
    'update checks on a warm node, beside the bare uWebSockets.js floor (PostgreSQL and Redis)',
  explanation: [
    'ratio: service by floor, in requests/s; cpu: the same in CPU per request, which counts where a server',
    'was less than 0.94 busy. us: CPU microseconds per request of the serving process; behind: of those that',
    'work behind it. p50 to p99.9: closed loop, 128 connections; below: open loop, from when it was due.',
  ],
  async run({ isSmoke, scenario: wanted }) {
    let service = await startBenchService(insertScenarios);
    const generator = startGenerator();
    const patience = patienceOf(isSmoke, WAIT_MS, WAIT_PER_ROUND_MS, service.recording);
    const reports: ScenarioReport[] = [];
    try {
      for (const scenario of scenarios(isSmoke)) {
        if (!scenario.name.startsWith(wanted)) continue;
        const pace = isSmoke ? SMOKE : PACE;
        console.error(`  ${scenario.name} …`);
        // Each begins with a node that knows nothing: no figure depends on which scenarios ran before.
        if (reports.length > 0) service = await service.restart();
        reports.push(await measureScenario(service, generator, scenario, pace, patience));
      }
    } finally {
      await generator.end();
      await service.dispose();
    }
    return reportOf(reports, service.isPinned);
  },
};

function reportOf(reports: readonly ScenarioReport[], isPinned: boolean): Report {
  const failures = reports.flatMap(failuresOf);
  return {
    tables: [
      { rows: reports.map(rowOf) },
      { title: 'open loop at half the rate', rows: reports.flatMap(pacedRowsOf) },
    ],
    remarks: [
      ...(isPinned ? [] : ['Nothing was pinned (no taskset, or one processor): compare CPU only.']),
      ...reports.flatMap(({ name, remarks }) => remarks.map((remark) => `${name}: ${remark}`)),
      ...reports.flatMap(({ name, openLoop }) =>
        openLoop?.errors[NOT_SENT] === undefined
          ? []
          : [`${name}: ${openLoop.errors[NOT_SENT]} paced requests were ${NOT_SENT}`],
      ),
      ...reports.flatMap(lostTimeOf),
    ],
    json: { scenarios: reports },
    ...(failures.length === 0 ? {} : { failure: failures.join('; ') }),
  };
}

/** Remark on the share of the open loop in which a busy host kept the generator from running. */
function lostTimeOf({ name, openLoop }: ScenarioReport): string[] {
  const percent = Math.round((openLoop?.generatorLostShare ?? 0) * 100);
  if (percent === 0) return [];
  return [`${name}: the host kept the generator from running for ${percent} % of the open loop`];
}

/** Errors of a scenario. A rate that could not be kept is no error: the latencies show it. */
function failuresOf({ name, errors, openLoop }: ScenarioReport): string[] {
  const { [NOT_SENT]: _, ...paced } = openLoop?.errors ?? {};
  return [errors, paced]
    .filter((each) => Object.keys(each).length > 0)
    .map((each) => `${name}: ${JSON.stringify(each)}`);
}

function rowOf(report: ScenarioReport): Row {
  return {
    scenario: report.name,
    'floor/s': report.floorRps,
    'service/s': report.rps,
    ratio: report.ratio,
    cpu: report.cpuRatio,
    'floor us': report.floorCpuUsPerRequest,
    'service us': report.cpuUsPerRequest,
    behind: report.backgroundCpuUsPerRequest,
    server: report.serverShare,
    'p50 us': Math.round(report.p50Us),
    'p99 us': Math.round(report.p99Us),
    'p99.9 us': Math.round(report.p999Us),
    rejected: report.rejectedRounds,
    checksum: report.checksum,
  };
}

function pacedRowsOf({ name, openLoop }: ScenarioReport): Row[] {
  if (openLoop === undefined) return [];
  const { rate, gcMaxMs, p50Ratio, p90Ratio } = openLoop;
  const compared = { 'p50 ratio': p50Ratio, 'p90 ratio': p90Ratio, 'longest GC ms': gcMaxMs };
  const nothing = { 'p50 ratio': '', 'p90 ratio': '', 'longest GC ms': '' };
  return (['floor', 'service'] as const).map((side) => ({
    scenario: `${name}: ${side}`,
    'requests/s': rate,
    'p50 us': Math.round(openLoop[side].p50Us),
    'p90 us': Math.round(openLoop[side].p90Us),
    'p99 us': Math.round(openLoop[side].p99Us),
    'p99.9 us': Math.round(openLoop[side].p999Us),
    ...(side === 'service' ? compared : nothing),
  }));
}
