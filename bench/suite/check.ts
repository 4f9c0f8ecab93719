// Compares the service, with every rule on, with the floor: a server on the same HTTP engine, of the same
// route and the same bytes, that decides nothing. Both are measured in one run and in turns. Then compares
// the engines with each other. Or loads a running service.

import { Option } from 'commander';
import { engineOfRun } from '../../test/support/base-environment.ts';
import { type Benchmark, type Given, Refusal } from '../benchmark.ts';
import { probe } from '../load/ask.ts';
import { NOT_SENT } from '../load/run-load.ts';
import { type Comparison, type SideSummary, sideOf, turnRatios } from '../measure/comparison.ts';
import { median } from '../measure/statistics.ts';
import { failuresOf, type Report, type Row } from '../report.ts';
import { type Deployment, settledRemarks, withScenarios } from '../service/deployment.ts';
import { meetingsOf, type Scenario, scenarios } from '../service/scenarios.ts';
import { compareEngines } from './engines.ts';
import { loadTarget, TARGET_OPTIONS } from './load-target.ts';

/** Pace of many short rounds: other work of the host comes in bursts, which then do not reach the median. */
const PACE = {
  ...{ turns: { wanted: 5, retries: 1 }, seconds: 0.3, warmupSeconds: 0.1, probes: 2000 },
  /** Turns in the open loop: many, since a percentile is at the mercy of the worst milliseconds. */
  pacedTurns: { wanted: 11, retries: 2 },
  /** Longest waits for a quiet machine, in all and at once, and until the fleet is on record. */
  ...{ waitsMs: [90_000, 30_000] as [number, number], recordingMs: 90_000 },
};
const SMOKE: typeof PACE = {
  ...{ turns: { wanted: 1, retries: 0 }, seconds: 0.3, warmupSeconds: 0.1, probes: 200 },
  ...{ pacedTurns: { wanted: 1, retries: 0 }, waitsMs: [0, 0], recordingMs: 0 },
};
/** Servers of `bench/servers` that do the least that can be done for a check, by their engine. */
const FLOORS = { uws: 'floor-server', node: 'node-http-server' };
/** Beginnings of the names of the scenarios of a smoke run, one of each kind. */
const SMOKE_NAMES = ['full', 'labels', 'own', 'unknown'];

export const SCENARIO_OPTION = new Option('--scenario <name>', 'those whose names begin so');

export const check: Benchmark = {
  name: 'check',
  title: 'update checks on a warm node, beside a bare server; or on a running service',
  options: [SCENARIO_OPTION, ...TARGET_OPTIONS],
  reading: [
    'ratio: service by floor, in requests/s; cpu: the same in CPU per request, which counts where a server',
    'was less than 0.94 busy. us: CPU microseconds per request of the serving process; behind: of those that',
    'work behind it. p50 to p99.9: closed loop, 128 connections; below: open loop, from when it was due.',
  ],
  run: async (given) =>
    given.options.target === undefined
      ? measureAll(scenariosOf(given, given.isSmoke ? SMOKE_NAMES : ['']), given.isSmoke)
      : loadTarget(given),
};

/** Scenarios that are asked for by the beginning of their names, or the usual ones. */
export function scenariosOf({ options, isSmoke }: Given, usual: readonly string[]): Scenario[] {
  const all = scenarios(isSmoke);
  const { scenario } = options as { readonly scenario?: string };
  const beginnings = scenario === undefined ? usual : [scenario];
  const chosen = all.filter(({ name }) => beginnings.some((each) => name.startsWith(each)));
  if (chosen.length > 0) return chosen;
  const names = all.map(({ name }) => name).join(', ');
  throw new Refusal(`no scenario begins with "${scenario}": there are ${names}`);
}

/** Measures scenarios beside the floor, and the first of them on both engines. */
async function measureAll(list: readonly Scenario[], isSmoke: boolean): Promise<Report> {
  const floor = await measureScenarios(list, isSmoke);
  const engines = await compareEngines(list[0] as Scenario, isSmoke);
  return {
    tables: [...floor.tables, ...engines.tables],
    remarks: [...(floor.remarks ?? []), ...(engines.remarks ?? [])],
    json: { ...floor.json, ...engines.json },
    failures: [...(floor.failures ?? []), ...(engines.failures ?? [])],
  };
}

/** Measures scenarios, each on a node that knows nothing: no figure depends on which ran before. */
function measureScenarios(list: readonly Scenario[], isSmoke: boolean): Promise<Report> {
  return withScenarios(async (deployment) => {
    const pace = isSmoke ? SMOKE : PACE;
    const comparison = deployment.comparison(...pace.waitsMs);
    const reports: ScenarioReport[] = [];
    for (const scenario of list) {
      console.error(`  ${scenario.name} …`);
      if (reports.length > 0) await deployment.restart();
      reports.push(await measureScenario(deployment, comparison, scenario, pace));
    }
    return reportOf(reports, deployment.isPinned);
  });
}

/** Figures of a scenario as they stand in the JSON file: microseconds, and shares of one processor. */
type ScenarioReport = Awaited<ReturnType<typeof measureScenario>>;

async function measureScenario(
  deployment: Deployment,
  comparison: Comparison,
  scenario: Scenario,
  pace: typeof PACE,
) {
  const { name, question, expected, isOneRequest = false, isPaced = false } = scenario;
  const { seconds, warmupSeconds, recordingMs } = pace;
  const { checksum, first } = await probe(deployment.node.url, question, pace.probes);
  const server = await deployment.startServer(FLOORS[(await engineOfRun()).name], first);
  const loop = { question, expected, seconds, warmupSeconds, isAwake: true, isOneRequest };
  const bare = await comparison.warm(sideOf('floor', server, loop), warmupSeconds * 6);
  const served = sideOf('service', deployment.place(), loop);
  await comparison.meet(served, meetingsOf(scenario, true), deployment.patience(recordingMs));
  const sides = [bare, await comparison.warm(served, warmupSeconds * 6)];
  const both = bothOf(await comparison.alternate(sides, pace.turns));
  const remarks = await settledRemarks(deployment.nodes);
  const rate = Math.round(both.service.rps / 2);
  const paced = sides.map((side) => ({ ...side, load: { ...side.load, rate } }));
  const openLoop = isPaced
    ? pacedFigures(rate, bothOf(await comparison.alternate(paced, pace.pacedTurns)))
    : undefined;
  await server.end();
  return { name, checksum, ...figuresOf(both, remarks), openLoop };
}

type Both = { readonly floor: SideSummary; readonly service: SideSummary };

function bothOf([floor, service]: readonly SideSummary[]): Both {
  if (floor === undefined || service === undefined) throw new Error('a side was not measured');
  return { floor, service };
}

function percentilesOf({ percentileUs: us }: SideSummary) {
  return { p50Us: us(0.5), p90Us: us(0.9), p99Us: us(0.99), p999Us: us(0.999) };
}

function pacedFigures(rate: number, { floor, service }: Both) {
  const ratio = (share: number) =>
    median(turnRatios(service, floor, ({ latency }) => latency.percentileUs(share)));
  const lost = [...floor.rounds, ...service.rounds].map(({ lostShare }) => lostShare);
  return {
    ...{ rate, service: percentilesOf(service), floor: percentilesOf(floor) },
    ...{ p50Ratio: ratio(0.5), p90Ratio: ratio(0.9), generatorLostShare: median(lost) },
    errors: service.errors,
  };
}

function figuresOf({ floor, service }: Both, remarks: readonly string[]) {
  const ratio = median(turnRatios(service, floor, ({ rps }) => rps));
  // Floor by service, so that it compares with the ratio of the rates.
  const cpuRatio = median(turnRatios(service, floor, ({ cpuUs }) => 1 / cpuUs));
  const isBound = floor.isGeneratorBound || service.isGeneratorBound;
  const { p50Us, p99Us, p999Us } = percentilesOf(service);
  return {
    ...{ rps: Math.round(service.rps), floorRps: Math.round(floor.rps), ratio },
    ...{ cpuUsPerRequest: service.cpuUs, p50Us, p99Us, p999Us },
    ...{ floorCpuUsPerRequest: floor.cpuUs, cpuRatio },
    backgroundCpuUsPerRequest: service.backgroundUs,
    serverShare: service.serverShare,
    ...{ rejectedRounds: floor.rejected + service.rejected, errors: service.errors },
    remarks: [
      ...(floor.isDisturbed || service.isDisturbed ? ['every round was disturbed'] : []),
      ...(isBound ? ['the generator was the bottleneck: compare CPU per request'] : []),
      ...remarks,
    ],
  };
}

function reportOf(reports: readonly ScenarioReport[], isPinned: boolean): Report {
  const named = reports.flatMap(({ name, remarks, openLoop }) =>
    [...remarks, ...pacedRemarks(openLoop)].map((remark) => `${name}: ${remark}`),
  );
  const unpinned = 'Nothing was pinned (no taskset, or one processor): compare CPU only.';
  return {
    tables: [
      { rows: reports.map(rowOf) },
      { title: 'open loop at half the rate', rows: reports.flatMap(pacedRowsOf) },
    ],
    remarks: isPinned ? named : [unpinned, ...named],
    json: { scenarios: reports },
    failures: reports.flatMap(({ name, errors, openLoop }) => {
      // A rate that could not be kept is no error: the latencies show it.
      const { [NOT_SENT]: _, ...paced } = openLoop?.errors ?? {};
      return [...failuresOf(name, errors), ...failuresOf(name, paced)];
    }),
  };
}

function pacedRemarks(openLoop: ScenarioReport['openLoop']): string[] {
  const unsent = openLoop?.errors[NOT_SENT];
  const percent = Math.round((openLoop?.generatorLostShare ?? 0) * 100);
  const lost = `the host kept the generator from running for ${percent} % of the open loop`;
  return [
    ...(unsent === undefined ? [] : [`${unsent} paced requests were ${NOT_SENT}`]),
    ...(percent === 0 ? [] : [lost]),
  ];
}

function rowOf(report: ScenarioReport): Row {
  const { name: scenario, ratio, cpuRatio: cpu, rejectedRounds: rejected, checksum } = report;
  return {
    ...{ scenario, 'floor/s': report.floorRps, 'service/s': report.rps, ratio, cpu },
    ...{ 'floor us': report.floorCpuUsPerRequest, 'service us': report.cpuUsPerRequest },
    ...{ behind: report.backgroundCpuUsPerRequest, server: report.serverShare },
    ...{ 'p50 us': Math.round(report.p50Us), 'p99 us': Math.round(report.p99Us) },
    ...{ 'p99.9 us': Math.round(report.p999Us), rejected, checksum },
  };
}

function pacedRowsOf({ name, openLoop }: ScenarioReport): Row[] {
  if (openLoop === undefined) return [];
  const compared = { 'p50 ratio': openLoop.p50Ratio, 'p90 ratio': openLoop.p90Ratio };
  return (['floor', 'service'] as const).map((side) => {
    const { p50Us, p90Us, p99Us, p999Us } = openLoop[side];
    return {
      ...{ scenario: `${name}: ${side}`, 'requests/s': openLoop.rate },
      ...{ 'p50 us': Math.round(p50Us), 'p90 us': Math.round(p90Us) },
      ...{ 'p99 us': Math.round(p99Us), 'p99.9 us': Math.round(p999Us) },
      ...(side === 'service' ? compared : { 'p50 ratio': '', 'p90 ratio': '' }),
    };
  });
}
