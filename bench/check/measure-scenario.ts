// One scenario: checksum, warm-up, alternated rounds of the floor and the service, and latencies at half the
// rate.

import type { BenchService } from '../load/bench-service.ts';
import { SERVER_PROCESSOR } from '../load/bench-service.ts';
import { type ChildServer, startChildServer } from '../load/child-server.ts';
import { pinProcess } from '../load/cpu-account.ts';
import type { Generator } from '../load/generator.ts';
import { agree } from '../load/judge-round.ts';
import type { LoadOptions } from '../load/load-run.ts';
import {
  alternate,
  measure,
  type Patience,
  patienceOf,
  percentileUs,
  ratioOf,
  type Side,
  type SideSummary,
  waitUntilIdle,
} from '../load/rounds.ts';
import { median } from '../report.ts';
import { probe } from './probe.ts';
import { CONNECTIONS, type Scenario } from './scenarios.ts';

export type Pace = {
  readonly rounds: number;
  readonly retries: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** In the open loop: more of them, since a percentile is at the mercy of the worst milliseconds. */
  readonly pacedRounds: number;
  readonly pacedRetries: number;
  readonly probes: number;
};

/** As it stands in the JSON file; microseconds, and shares of one processor. */
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
  /** Floor's CPU per request by the service's: comparable with `ratio`. Both are medians over the turns. */
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
  /** Empty, or what a reader should know about the figures. */
  readonly remarks: readonly string[];
  readonly errors: Readonly<Record<string, number>>;
  readonly openLoop?: PacedReport;
};

export type PacedReport = {
  readonly rate: number;
  readonly service: Percentiles;
  readonly floor: Percentiles;
  /** Service by floor: the medians of the turns' own. */
  readonly p50Ratio: number;
  readonly p90Ratio: number;
  /** The serving process's longest garbage collection meanwhile. */
  readonly gcMaxMs: number;
  /** Of the time, what the generator was kept from running: see `runLoad`. */
  readonly generatorLostShare: number;
  readonly errors: Readonly<Record<string, number>>;
};

export type Percentiles = {
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
};

const MEETING_SECONDS_MAX = 60;
/** Labels that are new wait for PostgreSQL, which records those of many connections at once. */
const MEETING_CONNECTIONS = 512;
const RECORDING_MS_MAX = 90_000;
const PERCENTILES = { p50Us: 0.5, p90Us: 0.9, p99Us: 0.99, p999Us: 0.999 } as const;

export async function measureScenario(
  service: BenchService,
  generator: Generator,
  scenario: Scenario,
  pace: Pace,
  patience: Patience,
): Promise<ScenarioReport> {
  const { checksum, first } = await probe(service.node.url, scenario.question, pace.probes);
  const floor = await startChildServer('floor-server', first, service.gc.environment);
  try {
    pinProcess(floor.pid, SERVER_PROCESSOR);
    const sides = sidesOf(service, floor, scenario, pace);
    await warmUp(service, generator, sides, scenario, pace);
    const options = { wanted: pace.rounds, retries: pace.retries, patience };
    const [bare, served] = await alternate(generator, sides, options);
    if (bare === undefined || served === undefined) throw new Error('a side was not measured');
    const settled = await service.settledCount();
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
  { question, expected }: Scenario,
  pace: Pace,
): Side[] {
  const load: Omit<LoadOptions, 'port'> = {
    host: '127.0.0.1',
    question,
    connections: CONNECTIONS,
    pipelining: 1,
    isAwake: true,
    seconds: pace.seconds,
    warmupSeconds: pace.warmupSeconds,
  };
  return [
    {
      name: 'floor',
      load: { ...load, port: floor.port },
      serverPids: [floor.pid],
      backgroundPids: [],
      expected,
    },
    {
      name: 'service',
      load: { ...load, port: service.port },
      serverPids: [service.pid],
      backgroundPids: service.place(),
      expected,
    },
  ];
}

/** Until both are compiled and, where it matters, every device is on record, as a running fleet is. */
async function warmUp(
  service: BenchService,
  generator: Generator,
  sides: readonly Side[],
  scenario: Scenario,
  pace: Pace,
): Promise<void> {
  for (const side of sides) {
    if (scenario.meetsAllFirst === true && side.name !== 'floor') {
      await meetAll(service, generator, side, pace);
    }
    const seconds = pace.warmupSeconds * 6;
    await measure(generator, { ...side, load: { ...side.load, seconds } }, 0);
  }
}

async function meetAll(
  { recording }: BenchService,
  generator: Generator,
  side: Side,
  { retries }: Pace,
): Promise<void> {
  const load = {
    ...side.load,
    // PostgreSQL needs the processor, too.
    isAwake: false,
    connections: MEETING_CONNECTIONS,
    seconds: MEETING_SECONDS_MAX,
    warmupSeconds: 0,
    requestsMax: side.load.question.devices,
  };
  await measure(generator, { ...side, load }, 0);
  await waitUntilIdle(patienceOf(retries === 0, RECORDING_MS_MAX, RECORDING_MS_MAX, recording));
}

/** Both at the same fixed rate, in the open loop. */
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
