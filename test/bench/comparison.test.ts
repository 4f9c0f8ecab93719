// Tests the comparison of servers: which rounds count, that disturbed ones are repeated, within bounds, and
// the interval of a ratio.

import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import type { LoadOptions } from '../../bench/load/load-connection.ts';
import type { Generator } from '../../bench/load/run-load.ts';
import {
  Comparison,
  judgeRound,
  type SideSummary,
  sideOf,
  turnRatios,
} from '../../bench/measure/comparison.ts';
import { createPatience } from '../../bench/measure/patience.ts';
import { ratioInterval, STARTS_MAX } from '../../bench/measure/statistics.ts';

describe('a round', () => {
  const good = { server: 0.97, generatorSide: 0.8, foreign: 0.02, stolen: 0 };
  const FULL = { server: 0.8, generatorSide: 1 };
  it.each([
    ['good when the server had its processor', {}, 'good', 'good'],
    ['disturbed when other processes worked', { foreign: 0.2 }, 'disturbed', 'disturbed'],
    ['disturbed when the host gave its time away', { stolen: 0.05 }, 'disturbed', 'disturbed'],
    ['disturbed when neither side was busy', { server: 0.8 }, 'disturbed', 'good'],
    ['kept when the generator was full', FULL, 'generator-bound', 'good'],
    ['good where nothing is told', { server: Number.NaN, foreign: Number.NaN }, 'good', 'good'],
  ])('is %s', (_, change, closed, paced) => {
    expect(judgeRound({ ...good, ...change }, false)).toBe(closed);
    expect(judgeRound({ ...good, ...change }, true)).toBe(paced);
  });
});

const GENERATOR = 1;
type Shape = { rps: number; server?: number; foreign?: number; stolen?: number; busyMs?: number };

/** Alternates servers whose runs have these shapes, the last one again and again. */
async function alternated(wanted: number, retries: number, shapes: readonly (readonly Shape[])[]) {
  const runs: LoadOptions[] = [];
  const run: Generator['run'] = async (options) => {
    const own = shapes[options.port - 2] ?? [];
    const earlier = runs.filter(({ port }) => port === options.port).length;
    const { rps, busyMs, ...shape } = own[Math.min(earlier, own.length - 1)] as Shape;
    const { server = 0.99, foreign = 0, stolen = 0 } = shape;
    runs.push(options);
    const sample = (at: number, used: number, generator: number, others: number) => ({
      ...{ at, machineMs: used + generator + others, stolenMs: at * stolen, endedMs: 0 },
      ...{ processesMs: { [GENERATOR]: generator, [options.port]: used }, residentBytes: 0 },
    });
    const latency = new LatencyHistogram();
    for (let index = 0; index < rps; index++) latency.record(1);
    return {
      ...{ responses: rps, sent: rps, seconds: 1, statuses: { 200: rps } },
      ...{ errors: {}, ended: 0, lostMs: 0 },
      ...{ latency: [...latency.counts], open: 1, ...(busyMs === undefined ? {} : { busyMs }) },
      cpu: { begin: sample(0, 0, 0, 0), end: sample(1000, server * 1000, 500, foreign * 1000) },
    };
  };
  const generator = { pid: GENERATOR, run, end: async () => undefined };
  const question = { paths: ['/'], devices: 10 };
  const sides = shapes.map((_, index) => {
    const server = { port: index + 2, pids: [index + 2] };
    return sideOf(String(index), server, { question, seconds: 1, warmupSeconds: 0, expected: 200 });
  });
  const patience = createPatience(async () => true, 0);
  const comparison = new Comparison(generator, patience);
  const summaries = await comparison.alternate(sides, { wanted, retries });
  return { runs, summaries, sides, comparison };
}

describe('alternated rounds', () => {
  it('take turns, in reverse every other time, go on in the fleet, and report the median', async () => {
    const shapes = [[{ rps: 100 }], [{ rps: 70 }, { rps: 90 }, { rps: 80 }]];
    const { runs, summaries } = await alternated(3, 2, shapes);
    expect(runs.map(({ port }) => port)).toEqual([2, 3, 3, 2, 2, 3]);
    expect(runs.filter(({ port }) => port === 2).map(({ skip }) => skip)).toEqual([0, 100, 200]);
    expect(summaries[0]).toMatchObject({ rps: 100, rejected: 0, serverShare: 0.99, errors: {} });
    expect(summaries[1]).toMatchObject({ rps: 80, rejected: 0, isDisturbed: false });
    expect(summaries[0]?.cpuUs).toBeCloseTo(9900);
  });

  it('are compared turn by turn, whatever pace the machine has meanwhile', async () => {
    const floors = [{ rps: 100 }, { rps: 50 }, { rps: 200 }];
    const services = [{ rps: 80 }, { rps: 40 }, { rps: 150 }];
    const [floor, service] = (await alternated(3, 0, [floors, services]))
      .summaries as SideSummary[];
    const ratios = turnRatios(service as SideSummary, floor as SideSummary, ({ rps }) => rps);
    expect(ratios).toEqual([0.8, 0.8, 0.75]);
  });

  it('do a turn with a disturbed round in it again, and leave it out on all sides', async () => {
    const services = [{ foreign: 0.3 }, { server: 0.5 }, { stolen: 0.1 }, {}].map((each) => {
      return { rps: 80, ...each };
    });
    const { runs, summaries } = await alternated(1, 5, [[{ rps: 100 }], services]);
    expect(runs.map(({ port }) => port)).toEqual([2, 3, 3, 2, 2, 3, 3, 2]);
    expect(summaries[1]).toMatchObject({ rps: 80, rejected: 3 });
  });

  it('take a generator that never slept for as busy as it was', async () => {
    const of = async (busyMs: number) =>
      (await alternated(1, 0, [[{ rps: 100, server: 0.8, busyMs }]])).summaries[0];
    expect(await of(950)).toMatchObject({ isGeneratorBound: true, isDisturbed: false });
    expect(await of(600)).toMatchObject({ isDisturbed: true });
  });

  it('give up within bounds, and count answers with another status than expected as errors', async () => {
    const { runs, summaries } = await alternated(2, 3, [[{ rps: 100, foreign: 1 }]]);
    expect([runs.length, summaries[0]?.isDisturbed, summaries[0]?.rejected]).toEqual([5, true, 5]);
    const { comparison, sides } = await alternated(1, 0, [[{ rps: 100 }]]);
    const refusing = sides.map((side) => ({ ...side, expected: 204 }));
    const [summary] = await comparison.alternate(refusing, { wanted: 1, retries: 0 });
    expect(summary?.errors).toEqual({ 'status 200': 100 });
  });

  it('count a round without an answer as an error, unless it was disturbed', async () => {
    const [summary] = (await alternated(2, 0, [[{ rps: 0 }, { rps: 80 }]])).summaries;
    expect(summary?.errors).toEqual({ 'rounds without an answer': 1 });
    const disturbed = [{ rps: 0, foreign: 1 }, { rps: 80 }];
    const [repeated] = (await alternated(1, 1, [disturbed])).summaries;
    expect(repeated).toMatchObject({ errors: {}, rejected: 1 });
  });
});

it('the interval of a ratio is that of Student over the logarithms; one start has no ends', () => {
  // Logarithms 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 / √3, t(2) = 4.303.
  const { ratio, low, high } = ratioInterval([0.1, 0.2, 0.3].map((value) => [Math.exp(value)]));
  const half = (4.303 * 0.1) / Math.sqrt(3);
  const expected = [0.2, 0.2 - half, 0.2 + half].map((value) =>
    expect.closeTo(Math.exp(value), 10),
  );
  expect([ratio, low, high]).toEqual(expected);
  const one = ratioInterval([[1.1, 1.2, 1.3]]);
  expect(one).toMatchObject({ ratio: expect.closeTo(1.2, 12), low: Number.NaN, high: Number.NaN });
  // More starts than it has quantiles for.
  expect(() => ratioInterval(Array(STARTS_MAX + 1).fill([1]))).toThrow('more than 16 starts');
});
