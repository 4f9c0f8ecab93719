// What a poll without an action, and progress, take of the serving process beside a check on `/u`: in slices
// by turns, on one node, after several starts.

import type { Question } from '../../load/question.ts';
import {
  type Comparison,
  type Side,
  type SideSummary,
  sideFailures,
  sideOf,
  turnRatios,
} from '../../measure/comparison.ts';
import { intervalText, median, ratioInterval } from '../../measure/statistics.ts';
import type { Report, Row } from '../../report.ts';
import { type Deployment, withDeployment } from '../../service/deployment.ts';
import {
  askOnce,
  checkQuestion,
  ddiQuestion,
  feedbackQuestion,
  NEWEST,
  startDdi,
} from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';
import { holdFleet, recordFleet } from './recorded-fleet.ts';

/** Times the CPU of a check that a request may take. */
const BOUNDS = { poll: 3, progress: 4 };
const PACE = {
  /** So many that none asks more than 120 times a minute, on a machine with 30,000 checks a second. */
  ...{ devices: 65_536, starts: 4, turns: { wanted: 8, retries: 2 } },
  ...{ seconds: 0.4, warmupSeconds: 0.15, settleSeconds: 2 },
  waitsMs: [120_000, 15_000] as [number, number],
};
const SMOKE: typeof PACE = {
  ...{ devices: 12_800, starts: 1, turns: { wanted: 3, retries: 0 } },
  ...{ seconds: 0.3, warmupSeconds: 0.1, settleSeconds: 0.5, waitsMs: [0, 0] },
};

type Start = readonly [check: SideSummary, poll: SideSummary, progress: SideSummary];

export const pricePart: Part = {
  name: 'price',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: true }, (deployment) => measure(deployment, isSmoke ? SMOKE : PACE)),
};

async function measure(deployment: Deployment, pace: typeof PACE): Promise<Report> {
  const service = await startDdi(deployment);
  const { devices } = pace;
  await recordFleet(service, await deployment.connect(service.stores.DATABASE_URL), devices);
  const comparison = deployment.comparison(...pace.waitsMs);
  const starts: Start[] = [];
  while (starts.length < pace.starts) {
    console.error(`  price, start ${starts.length + 1} of ${pace.starts} …`);
    if (starts.length > 0) await deployment.restart();
    await holdFleet(service, devices);
    await askOnce(deployment, deployment.node, ddiQuestion(devices, [NEWEST]));
    starts.push(await measureStart(deployment, comparison, pace));
  }
  return reportOf(starts);
}

async function measureStart(
  deployment: Deployment,
  comparison: Comparison,
  { devices, turns, seconds, warmupSeconds, settleSeconds }: typeof PACE,
): Promise<Start> {
  const progress = { execution: 'proceeding', result: { finished: 'none' }, details: ['35 %'] };
  const asked: readonly (readonly [string, Question, number])[] = [
    ['check', checkQuestion(devices, NEWEST), 204],
    ['poll', ddiQuestion(devices, [NEWEST]), 200],
    ['progress', feedbackQuestion(devices, [NEWEST], '11', progress), 200],
  ];
  const server = deployment.place();
  const sides: Side[] = [];
  for (const [name, question, expected] of asked) {
    const loop = { question, expected, seconds, warmupSeconds, isAwake: true };
    sides.push(await comparison.warm(sideOf(name, server, loop), settleSeconds));
  }
  const [check, poll, reported] = await comparison.alternate(sides, turns);
  if (!check || !poll || !reported) throw new Error('a side was not measured');
  return [check, poll, reported];
}

function reportOf(starts: readonly Start[]): Report {
  const rows = [
    priceRow('a poll without an action, by a check', starts, 1, BOUNDS.poll),
    priceRow('progress, by a check', starts, 2, BOUNDS.progress),
  ];
  const sides = starts.flat();
  return {
    tables: [{ title: 'CPU of the serving process, by that of a check on /u', rows }],
    remarks: sides.some((side) => side.isDisturbed) ? ['price: some turns were disturbed'] : [],
    json: { price: rows },
    failures: sideFailures(sides),
  };
}

function priceRow(figure: string, starts: readonly Start[], place: 1 | 2, boundMax: number): Row {
  const interval = ratioInterval(
    starts.map((start) => turnRatios(start[place], start[0], ({ cpuUs }) => cpuUs)),
  );
  const us = (at: number) => median(starts.map((start) => start[at]?.cpuUs ?? Number.NaN));
  const rps = median(starts.map((start) => start[place].rps));
  return figureRow(figure, interval.ratio, boundMax, {
    ...{ '95 %': intervalText(interval), us: us(place), 'check us': us(0) },
    ...{ 'requests/s': Math.round(rps), starts: starts.length },
  });
}
