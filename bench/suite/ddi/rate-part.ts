// Whether one serving process answers polls at a constant rate in time, with a small fleet on record and with
// a large one: two services by turns, since the pace of a machine drifts.

import { NOT_SENT } from '../../load/run-load.ts';
import { type Side, type SideSummary, sideOf, turnRatios } from '../../measure/comparison.ts';
import { median } from '../../measure/statistics.ts';
import { failuresOf, percentileColumns, type Report, type Row } from '../../report.ts';
import { type Deployment, withDeployment } from '../../service/deployment.ts';
import { ddiQuestion, NEWEST, startDdi } from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';
import { holdFleet, recordFleet } from './recorded-fleet.ts';

const P99_MS_MAX = 25;
const CHANGE_MAX = 1.1;
const PACE = {
  ...{ rate: 2000, seconds: 60, warmupSeconds: 5, turns: { wanted: 3, retries: 1 } },
  /** Devices on record, of which all poll by turns; none more than 120 times a minute. */
  ...{ fleets: [100_000, 1_000_000], waitsMs: [180_000, 30_000] as [number, number] },
};
const SMOKE: typeof PACE = {
  ...{ rate: 100, seconds: 2, warmupSeconds: 0.5, turns: { wanted: 1, retries: 0 } },
  ...{ fleets: [5000, 20_000], waitsMs: [0, 0] },
};

export const ratePart: Part = {
  name: 'rate',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: false }, (deployment) =>
      measure(deployment, isSmoke ? SMOKE : PACE),
    ),
};

async function measure(deployment: Deployment, pace: typeof PACE): Promise<Report> {
  const { rate, seconds, warmupSeconds } = pace;
  const comparison = deployment.comparison(...pace.waitsMs);
  const sides: Side[] = [];
  for (const devices of pace.fleets) {
    console.error(`  rate, ${devices} devices …`);
    const service = await startDdi(deployment);
    await recordFleet(service, await deployment.connect(service.stores.DATABASE_URL), devices);
    await holdFleet(service, devices);
    const { pid } = service.node.process;
    const server = { pids: [pid], port: Number(new URL(service.node.url).port) };
    const question = ddiQuestion(devices, [NEWEST]);
    const loop = { question, expected: 200, seconds, warmupSeconds, rate };
    const side = sideOf(`${devices} devices`, server, loop);
    sides.push(await comparison.warm(side, warmupSeconds));
  }
  const [small, large] = await comparison.alternate(sides, pace.turns);
  if (small === undefined || large === undefined) throw new Error('a side was not measured');
  return reportOf(small, large, rate);
}

function reportOf(small: SideSummary, large: SideSummary, rate: number): Report {
  const sides = [small, large];
  const p99Ms = (side: SideSummary) => side.percentileUs(0.99) / 1000;
  const change = (value: Parameters<typeof turnRatios>[2]) =>
    median(turnRatios(large, small, value));
  const rows = [
    ...sides.map((side) => figureRow(`p99 in ms, ${side.name}`, p99Ms(side), P99_MS_MAX)),
    figureRow(
      'p99, large by small fleet',
      change(({ latency }) => latency.percentileUs(0.99)),
      CHANGE_MAX,
    ),
    figureRow('rate, small by large fleet', 1 / change(({ rps }) => rps), CHANGE_MAX),
  ];
  return {
    tables: [
      { title: `${rate} polls a second on one serving process`, rows },
      { title: 'as measured', rows: sides.map((side) => measuredRow(side)) },
    ],
    remarks: sides.some((side) => side.isDisturbed) ? ['rate: every turn was disturbed'] : [],
    json: { rate: rows },
    failures: sides.flatMap(({ name, errors }) => {
      // A rate that could not be kept is no error: the figures show it.
      const { [NOT_SENT]: _, ...wrong } = errors;
      return failuresOf(name, wrong);
    }),
  };
}

function measuredRow(side: SideSummary): Row {
  const lost = median(side.rounds.map(({ lostShare }) => lostShare));
  return {
    ...{ fleet: side.name, 'polls/s': Math.round(side.rps) },
    ...percentileColumns((share) => side.percentileUs(share), 50, 90, 99, 99.9),
    ...{ us: side.cpuUs, turns: side.rounds.length, rejected: side.rejected },
    'lost %': Math.round(lost * 100),
  };
}
