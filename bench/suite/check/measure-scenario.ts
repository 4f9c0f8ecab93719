// Measures one scenario of `check`: checksum, warm-up, alternated rounds of the floor and the service, and
// latencies at half the rate.

import type { Generator } from '../../load/generator.ts';
import { meetFleet, sideOf, warmSide } from '../../measure/closed-loop.ts';
import { agree } from '../../measure/judge-round.ts';
import { type Patience, patienceOf, waitUntilIdle } from '../../measure/patience.ts';
import {
  alternate,
  percentileUs,
  ratioOf,
  type Side,
  type SideSummary,
} from '../../measure/rounds.ts';
import { median } from '../../measure/statistics.ts';
import { type ChildServer, startPinnedServer } from '../../servers/start-server.ts';
import { type BenchService, countSettled } from '../../service/bench-service.ts';
import { probe } from '../../service/probe.ts';
import { CONNECTIONS, meetingsOf, type Scenario } from '../../service/scenarios.ts';

export type Pace = {
  readonly rounds: number;
  readonly retries: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Rounds in the open loop: many, since a percentile is at the mercy of the worst milliseconds. */
  readonly pacedRounds: number;
  readonly pacedRetries: number;
  readonly probes: number;
};

/** Figures of a scenario as they stand in the JSON file: microseconds, and shares of one processor. */
export type ScenarioReport = {
  readonly name: string;
  readonly rps: number;
  readonly floorRps: number;
  readonly ratio: number;
  readonly cpuUsPerRequest: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly checksum: string;
  readonly floorCpuUsPerRequest: number;
  /** Floor's CPU per request by the service's, comparable with `ratio`; both are medians over the turns. */
  readonly cpuRatio: number;
  readonly backgroundCpuUsPerRequest: number;
  readonly generatorCpuUsPerRequest: number;
  readonly serverShare: number;
  readonly floorServerShare: number;
  readonly generatorShare: number;
  readonly floorGeneratorShare: number;
  readonly floorP50Us: number;
  readonly floorP99Us: number;
  readonly rejectedRounds: number;
  /** Lines on these figures in particular. */
  readonly remarks: readonly string[];
  readonly errors: Readonly<Record<string, number>>;
  readonly openLoop?: PacedReport;
};

type PacedReport = {
  readonly rate: number;
  readonly service: Percentiles;
  readonly floor: Percentiles;
  /** Median over the turns of the service's percentile by the floor's. */
  readonly p50Ratio: number;
  readonly p90Ratio: number;
  /** Longest garbage collection of the serving process meanwhile. */
  readonly gcMaxMs: number;
  /** Share of the time for which the generator was kept from running; see `runLoad`. */
  readonly generatorLostShare: number;
  readonly errors: Readonly<Record<string, number>>;
};

type Percentiles = {
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
};

const RECORDING_MS_MAX = 90_000;
const PERCENTILES = { p50Us: 0.5, p90Us: 0.9, p99Us: 0.99, p999Us: 0.999 } as const;

/** Measures one scenario on a node that was just started. */
export async function measureScenario(
  service: BenchService,
  generator: Generator,
  scenario: Scenario,
  pace: Pace,
  patience: Patience,
): Promise<ScenarioReport> {
  const { checksum, first } = await probe(service.node.url, scenario.question, pace.probes);
  const floor = await startPinnedServer('floor-server', first, service.gc.environment);
  try {
    const cold = sidesOf(service, floor, scenario, pace);
    const sides = await warmUp(service, generator, cold, scenario, pace);
    const options = { wanted: pace.rounds, retries: pace.retries, patience };
    const [bare, served] = await alternate(generator, sides, options);
    if (bare === undefined || served === undefined) throw new Error('a side was not measured');
    const settled = await countSettled(service.node);
    const report = reportOf(scenario.name, checksum, bare, served, settled);
    if (scenario.isPaced !== true) return report;
    const openLoop = await measurePaced(service, generator, sides, served.rps / 2, pace, patience);
    return { ...report, openLoop };
  } finally {
    await floor.end();
  }
}

function sidesOf(
  service: BenchService,
  floor: ChildServer,
  { question, expected, isOneRequest = false }: Scenario,
  { seconds, warmupSeconds }: Pace,
): Side[] {
  const loop = {
    ...{ question, connections: CONNECTIONS, expected },
    ...{ seconds, warmupSeconds, isAwake: true, isOneRequest },
  };
  const { port, pid } = service;
  return [
    sideOf('floor', { port: floor.port, pids: [floor.pid] }, loop),
    sideOf('service', { port, pids: [pid], backgroundPids: service.place() }, loop),
  ];
}

/** Runs both sides until they are compiled and, where it matters, every device is on record. */
async function warmUp(
  { recording }: BenchService,
  generator: Generator,
  sides: readonly Side[],
  scenario: Scenario,
  { warmupSeconds, retries }: Pace,
): Promise<Side[]> {
  const warm: Side[] = [];
  for (const side of sides) {
    if (side.name !== 'floor') {
      const patience = patienceOf(retries === 0, RECORDING_MS_MAX, RECORDING_MS_MAX, recording);
      await meetFleet(generator, side, patience, meetingsOf(scenario, true));
    }
    warm.push(await warmSide(generator, side, warmupSeconds * 6));
  }
  return warm;
}

/** Measures both sides at the same fixed rate, in the open loop. */
async function measurePaced(
  service: BenchService,
  generator: Generator,
  sides: readonly Side[],
  rate: number,
  pace: Pace,
  patience: Patience,
): Promise<PacedReport> {
  await waitUntilIdle(patience);
  const begin = Date.now();
  const paced = sides.map((side) => ({
    ...side,
    load: { ...side.load, rate: Math.round(rate) },
  }));
  const options = { wanted: pace.pacedRounds, retries: pace.pacedRetries, patience };
  const [bare, served] = await alternate(generator, paced, options);
  if (bare === undefined || served === undefined) throw new Error('a side was not measured');
  return {
    rate: Math.round(rate),
    service: percentilesOf(served),
    floor: percentilesOf(bare),
    p50Ratio: ratioOf(served, bare, ({ latency }) => latency.percentileUs(PERCENTILES.p50Us)),
    p90Ratio: ratioOf(served, bare, ({ latency }) => latency.percentileUs(PERCENTILES.p90Us)),
    gcMaxMs: service.gc.longestSince(service.pid, begin),
    generatorLostShare: median([...bare.rounds, ...served.rounds].map((round) => round.lostShare)),
    errors: served.errors,
  };
}

function percentilesOf(summary: SideSummary): Percentiles {
  const entries = Object.entries(PERCENTILES).map(([name, share]) => [
    name,
    percentileUs(summary, share),
  ]);
  return Object.fromEntries(entries) as Percentiles;
}

function reportOf(
  name: string,
  checksum: string,
  floor: SideSummary,
  service: SideSummary,
  settled: number,
): ScenarioReport {
  const ratio = ratioOf(service, floor, ({ rps }) => rps);
  const cpuRatio = ratioOf(service, floor, ({ cpuUs }) => 1 / cpuUs);
  return {
    name,
    rps: Math.round(service.rps),
    floorRps: Math.round(floor.rps),
    ratio,
    cpuUsPerRequest: service.cpuUs,
    p50Us: percentileUs(service, 0.5),
    p99Us: percentileUs(service, 0.99),
    p999Us: percentileUs(service, 0.999),
    checksum,
    floorCpuUsPerRequest: floor.cpuUs,
    cpuRatio,
    backgroundCpuUsPerRequest: service.backgroundUs,
    generatorCpuUsPerRequest: floor.generatorUs,
    serverShare: service.serverShare,
    floorServerShare: floor.serverShare,
    generatorShare: service.generatorShare,
    floorGeneratorShare: floor.generatorShare,
    floorP50Us: percentileUs(floor, 0.5),
    floorP99Us: percentileUs(floor, 0.99),
    rejectedRounds: floor.rejected + service.rejected,
    remarks: remarksOn(floor, service, agree(ratio, cpuRatio), settled),
    errors: service.errors,
  };
}

function remarksOn(
  floor: SideSummary,
  service: SideSummary,
  isAgreed: boolean,
  settled: number,
): string[] {
  const isBound = floor.isGeneratorBound || service.isGeneratorBound;
  return [
    ...(floor.isDisturbed || service.isDisturbed ? ['every round was disturbed'] : []),
    ...(isBound ? ['the generator was the bottleneck: compare CPU per request'] : []),
    ...(isAgreed ? [] : ['rate and CPU ratio differ by more than 5 %']),
    ...(settled === 0 ? [] : [`of devices that ask too often, ${settled} requests went to Redis`]),
  ];
}
