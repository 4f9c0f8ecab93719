// Tests the alternation of rounds: disturbed ones are repeated, within bounds, and do not count.

import { describe, expect, it } from 'vitest';
import type { Generator } from '../../bench/load/generator.ts';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import type { LoadOptions } from '../../bench/load/load-run.ts';
import type { LoadResult } from '../../bench/load/run-load.ts';
import type { CpuSample } from '../../bench/machine/cpu-account.ts';
import { alternate, ratioOf, type Side } from '../../bench/measure/rounds.ts';

const GENERATOR = 1;
const SERVERS = { floor: 2, service: 3 } as const;
const background = { isDone: () => Promise.resolve(true), spread() {}, place() {} };
const IMPATIENT = { leftMs: 0, perRoundMs: 0, inVain: 0, background };

type Shape = {
  readonly rps: number;
  readonly server?: number;
  readonly foreign?: number;
  readonly stolen?: number;
  readonly busyMs?: number;
};

function side(name: keyof typeof SERVERS): Side {
  const load: LoadOptions = {
    host: '127.0.0.1',
    port: SERVERS[name],
    question: { paths: ['/'], devices: 10 },
    connections: 1,
    pipelining: 1,
    seconds: 1,
    warmupSeconds: 0,
  };
  return { name, load, serverPids: [SERVERS[name]], backgroundPids: [], expected: 200 };
}

/** Returns a generator that answers each run with the next shape of its server, and repeats the last one. */
function generatorWith(shapes: Record<number, readonly Shape[]>) {
  const runs: LoadOptions[] = [];
  const generator: Generator = {
    pid: GENERATOR,
    end: () => Promise.resolve(),
    run(options) {
      const earlier = runs.filter(({ port }) => port === options.port).length;
      runs.push(options);
      const own = shapes[options.port] ?? [];
      return Promise.resolve(resultOf(own[Math.min(earlier, own.length - 1)], options.port));
    },
  };
  return { generator, runs };
}

function resultOf(shape: Shape | undefined, serverPid: number): LoadResult {
  const { rps = 0, server = 0.99, foreign = 0, stolen = 0, busyMs } = shape ?? {};
  const sample = (at: number, used: number, own: number, others: number): CpuSample => ({
    at,
    machineMs: used + own + others,
    stolenMs: at * stolen,
    processesMs: { [GENERATOR]: own, [serverPid]: used },
    endedMs: 0,
  });
  const latency = new LatencyHistogram();
  for (let index = 0; index < rps; index++) latency.record(1);
  return {
    responses: rps,
    sent: rps,
    seconds: 1,
    statuses: { 200: rps },
    errors: {},
    latency: [...latency.counts],
    ...(busyMs === undefined ? {} : { busyMs }),
    lostMs: 0,
    cpu: { begin: sample(0, 0, 0, 0), end: sample(1000, server * 1000, 500, foreign * 1000) },
  };
}

describe('alternated rounds', () => {
  it('take turns, in reverse every other time, and report the median', async () => {
    const { generator, runs } = generatorWith({
      [SERVERS.floor]: [{ rps: 100 }],
      [SERVERS.service]: [{ rps: 70 }, { rps: 90 }, { rps: 80 }],
    });
    const sides = [side('floor'), side('service')];
    const options = { wanted: 3, retries: 2, patience: IMPATIENT };
    const [floor, service] = await alternate(generator, sides, options);
    expect(runs.map(({ port }) => port)).toEqual([2, 3, 3, 2, 2, 3]);
    expect(floor).toMatchObject({ rps: 100, rejected: 0, serverShare: 0.99 });
    expect(service).toMatchObject({ rps: 80, rejected: 0, isDisturbed: false });
    expect(floor?.cpuUs).toBeCloseTo(9900);
  });

  it('are compared turn by turn, whatever pace the machine has meanwhile', async () => {
    const { generator } = generatorWith({
      [SERVERS.floor]: [{ rps: 100 }, { rps: 50 }, { rps: 200 }],
      [SERVERS.service]: [{ rps: 80 }, { rps: 40 }, { rps: 150 }],
    });
    const sides = [side('floor'), side('service')];
    const options = { wanted: 3, retries: 0, patience: IMPATIENT };
    const [floor, service] = await alternate(generator, sides, options);
    if (floor === undefined || service === undefined) throw new Error('nothing was measured');
    expect(ratioOf(service, floor, ({ rps }) => rps)).toBe(0.8);
  });

  it('do a turn with a disturbed round in it again, and leave it out on all sides', async () => {
    const { generator, runs } = generatorWith({
      [SERVERS.floor]: [{ rps: 100 }],
      [SERVERS.service]: [
        { rps: 10, foreign: 0.3 },
        { rps: 20, server: 0.5 },
        { rps: 30, stolen: 0.1 },
        { rps: 80 },
      ],
    });
    const sides = [side('floor'), side('service')];
    const options = { wanted: 1, retries: 5, patience: IMPATIENT };
    const [, service] = await alternate(generator, sides, options);
    expect(runs.map(({ port }) => port)).toEqual([2, 3, 3, 2, 2, 3, 3, 2]);
    expect(service).toMatchObject({ rps: 80, rejected: 3 });
  });

  it('take a generator that never slept for as busy as it was', async () => {
    const { generator } = generatorWith({
      [SERVERS.floor]: [{ rps: 100, server: 0.8, busyMs: 950 }],
      [SERVERS.service]: [{ rps: 100, server: 0.8, busyMs: 600 }],
    });
    const options = { wanted: 1, retries: 0, patience: IMPATIENT };
    const [bound] = await alternate(generator, [side('floor')], options);
    expect(bound).toMatchObject({ isGeneratorBound: true, generatorShare: 0.95, rejected: 0 });
    const [disturbed] = await alternate(generator, [side('service')], options);
    expect(disturbed).toMatchObject({ isDisturbed: true, generatorUs: 6000 });
  });

  it('give up within bounds, and say that every round was disturbed', async () => {
    const { generator, runs } = generatorWith({ [SERVERS.floor]: [{ rps: 100, foreign: 1 }] });
    const options = { wanted: 2, retries: 3, patience: IMPATIENT };
    const [floor] = await alternate(generator, [side('floor')], options);
    expect(runs).toHaveLength(5);
    expect(floor).toMatchObject({ isDisturbed: true, rejected: 5, rps: 100 });
  });

  it('go on in the fleet where the last round ended', async () => {
    const { generator, runs } = generatorWith({ [SERVERS.floor]: [{ rps: 100 }] });
    const options = { wanted: 3, retries: 0, patience: IMPATIENT };
    await alternate(generator, [side('floor')], options);
    expect(runs.map(({ skip }) => skip)).toEqual([0, 100, 200]);
  });

  it('count answers with another status than expected as errors', async () => {
    const { generator } = generatorWith({ [SERVERS.floor]: [{ rps: 100 }] });
    const refusing = { ...side('floor'), expected: 204 };
    const options = { wanted: 1, retries: 0, patience: IMPATIENT };
    const [floor] = await alternate(generator, [refusing], options);
    expect(floor?.errors).toEqual({ 'status 200': 100 });
  });
});
