// Process of `price`: loads two builds and lets them answer the same checks in slices by turns. It is run by
// plain Node.js with the arguments of the service, because a loader would change the code of the builds.

import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { CheckStream, type Checks } from './check-stream.ts';
import { type EnteredBuild, enterBuild, type PreparedBuild } from './entered-build.ts';
import { CHECKS_PER_SECOND, PRICE_SCENARIOS } from './price-scenarios.ts';
import { StubRequest, StubResponse, tally } from './stub-exchange.ts';
import type { StubHandler } from './uws-stub.ts';

export type PriceOptions = {
  readonly builds: readonly [PreparedBuild, PreparedBuild];
  /** Number of the build that is loaded first, and goes first at the beginning. */
  readonly first: 0 | 1;
  readonly scenario: string;
  /** Slices of each build until its code is compiled. */
  readonly warmupSlices: number;
  readonly seconds: number;
  /** Nanoseconds for which each build is kept busy in each check: for the test of this benchmark. */
  readonly delaysNs: readonly [number, number];
};

type Pair = readonly [number, number];

/** Figures of a process; pairs are in the order of the builds. */
export type ProcessFigures = {
  /** Logarithms of the first build's time by the second's, block by block. */
  readonly logRatios: readonly number[];
  readonly nsPerCheck: Pair;
  readonly bytesPerCheck: Pair;
  /** Calls into the server. */
  readonly callsPerCheck: Pair;
  /** Answers that the two gave otherwise, of those compared. */
  readonly differing: number;
  readonly compared: number;
  /** First lines of the answers, counted. */
  readonly statuses: Readonly<Record<string, number>>;
};

/** Checks that arrive in one turn of the event loop: some dozens on a busy node. */
const TURN_CHECKS = 50;
/** Checks of a slice, one to two milliseconds: in longer ones the two sides meet another pace. */
const SLICE_CHECKS = 500;
const COMPARED_CHECKS = 2000;
/** Slices of each build in which allocations are read. */
const BYTES_SLICES = 24;
/** Times in answers: builds have written them with milliseconds or without. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Turns of the event loop between two slices, in which check-ins are handed over and drained. */
const TURNS = 3;
const SIDES = [0, 1] as const;

/** Time of both builds: it goes on by their checks, so that a fleet asks at its pace on any machine. */
const clock = new Float64Array([performance.now()]);
const STEP_MS = 1000 / CHECKS_PER_SECOND / SIDES.length;

/** Milliseconds of the machine's clock, whatever the builds are told. */
const readMs = performance.now.bind(performance);

function useOwnClock(): void {
  performance.now = () => {
    // Called all the same, because it costs something.
    readMs();
    return clock[0] as number;
  };
}

class Side {
  private readonly build: EnteredBuild;
  private readonly delayNs: number;
  private readonly handlers = new Map<string, StubHandler>();
  private readonly request = new StubRequest();
  private readonly responses = Array.from({ length: TURN_CHECKS }, () => new StubResponse());

  constructor(build: EnteredBuild, delayNs: number) {
    this.build = build;
    this.delayNs = delayNs;
  }

  /**
   * Answers checks, some in each turn of the event loop; returns what `meter` counted in each turn until its
   * last answer was written. What a build does between two turns is not counted.
   */
  async run(checks: Checks, meter: () => number): Promise<number[]> {
    const handlers = checks.paths.map((path) => this.handlerOf(path));
    const counted: number[] = [];
    for (let from = 0; from < handlers.length; from += TURN_CHECKS) {
      const wanted = tally.answers + Math.min(TURN_CHECKS, handlers.length - from);
      const before = meter();
      this.ask(checks, handlers, from);
      while (tally.answers < wanted) await turn();
      counted.push(meter() - before);
      await turn();
    }
    return counted;
  }

  private ask(
    { paths, queries, devices }: Checks,
    handlers: readonly StubHandler[],
    from: number,
  ): void {
    const { request, responses } = this;
    const end = Math.min(from + TURN_CHECKS, handlers.length);
    for (let index = from; index < end; index++) {
      request.path = paths[index] as string;
      request.query = queries[index];
      request.device = devices[index] as string;
      clock[0] = (clock[0] as number) + STEP_MS;
      (handlers[index] as StubHandler)(responses[index - from] as StubResponse, request);
    }
  }

  private handlerOf(path: string): StubHandler {
    const prefix = path.slice(0, path.indexOf('/', 1) + 1);
    let handler = this.handlers.get(prefix);
    if (handler === undefined) {
      handler = delayed(this.build.handlerOf(prefix), this.delayNs);
      this.handlers.set(prefix, handler);
    }
    return handler;
  }
}

function delayed(handler: StubHandler, ns: number): StubHandler {
  if (ns === 0) return handler;
  const { hrtime } = process;
  return (res, req) => {
    const until = hrtime.bigint() + BigInt(ns);
    while (hrtime.bigint() < until);
    handler(res, req);
  };
}

class Measurement {
  private readonly stream: CheckStream;
  private readonly sides: readonly [Side, Side];
  private first: 0 | 1;

  constructor(stream: CheckStream, sides: readonly [Side, Side], first: 0 | 1) {
    this.stream = stream;
    this.sides = sides;
    this.first = first;
  }

  /** Lets each side answer the next checks; returns their milliseconds for a turn. */
  async pair(count = SLICE_CHECKS): Promise<[number, number]> {
    const from = this.stream.skip(count);
    const times: [number, number] = [0, 0];
    for (const side of this.order()) {
      // Strings of its own for each side: a text that was looked up before has its hash.
      const checks = this.stream.read(from, count);
      times[side] = usualMean(await this.sides[side].run(checks, readMs));
      await rest();
    }
    this.first = this.first === 0 ? 1 : 0;
    return times;
  }

  /** Runs pairs until a time has passed; an even number of them, so that each is a block of ABBA. */
  async pairs(seconds: number): Promise<[number, number][]> {
    const deadline = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
    const all: [number, number][] = [];
    while (process.hrtime.bigint() < deadline || all.length % 2 === 1) all.push(await this.pair());
    return all;
  }

  /** Bytes that a check of each side allocates: the median of slices, of which few are collected in. */
  async bytes(): Promise<Pair> {
    const read: [number[], number[]] = [[], []];
    for (let slice = 0; slice < BYTES_SLICES; slice++) {
      const from = this.stream.skip(SLICE_CHECKS);
      for (const side of this.order()) {
        const checks = this.stream.read(from, SLICE_CHECKS);
        read[side].push(...(await this.sides[side].run(checks, heapBytes)));
        await rest();
      }
    }
    return [middle(read[0]) / TURN_CHECKS, middle(read[1]) / TURN_CHECKS];
  }

  /** Compares the first answers, and counts the calls into the server. */
  async compare(): Promise<
    Pick<ProcessFigures, 'callsPerCheck' | 'differing' | 'compared' | 'statuses'>
  > {
    const from = this.stream.skip(COMPARED_CHECKS);
    const texts: [string[], string[]] = [[], []];
    const calls: [number, number] = [0, 0];
    for (const side of SIDES) {
      tally.texts = texts[side];
      const checks = this.stream.read(from, COMPARED_CHECKS);
      const counted = await this.sides[side].run(checks, () => tally.calls);
      calls[side] = counted.reduce((sum, count) => sum + count, 0) / COMPARED_CHECKS;
      tally.texts = undefined;
      await rest();
    }
    const statuses: Record<string, number> = {};
    for (const text of texts[0]) {
      const [line = ''] = text.split(/[\r\n]/, 1);
      statuses[line] = (statuses[line] ?? 0) + 1;
    }
    const [present, other] = texts.map((list) => list.map((text) => text.replace(TIMES, '')));
    const differing = present?.filter((text, index) => text !== other?.[index]).length ?? 0;
    return { callsPerCheck: calls, differing, compared: COMPARED_CHECKS, statuses };
  }

  private order(): readonly (0 | 1)[] {
    return this.first === 0 ? [0, 1] : [1, 0];
  }
}

/**
 * Mean of the turns of a slice, without those that took twice as long as the middle one: then something else
 * had the processor, or memory was collected, of which the allocated bytes tell more.
 */
function usualMean(values: readonly number[]): number {
  const most = 2 * middle(values);
  const usual = values.filter((value) => value <= most);
  return usual.reduce((sum, value) => sum + value, 0) / usual.length;
}

function heapBytes(): number {
  return getHeapStatistics().used_heap_size;
}

async function rest(): Promise<void> {
  for (let count = 0; count < TURNS; count++) await turn();
}

function middle(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}

async function measurePrice(options: PriceOptions): Promise<ProcessFigures> {
  const { builds, first, delaysNs, warmupSlices, seconds } = options;
  const scenario = PRICE_SCENARIOS.find(({ name }) => name === options.scenario);
  if (scenario === undefined) throw new Error(`no scenario ${options.scenario}`);
  useOwnClock();
  const entered: EnteredBuild[] = [];
  for (const place of first === 0 ? SIDES : ([1, 0] as const)) {
    entered[place] = await enterBuild(builds[place]);
  }
  const sides = SIDES.map((place) => new Side(entered[place] as EnteredBuild, delaysNs[place]));
  const measurement = new Measurement(
    new CheckStream(scenario),
    sides as unknown as readonly [Side, Side],
    first,
  );
  // Once before, because the first check of a channel waits for it.
  await measurement.pair(scenario.addresses.length);
  const { meetings = 0, devices } = scenario;
  const slices = warmupSlices + Math.ceil((meetings * devices) / SLICE_CHECKS);
  for (let slice = 0; slice < slices; slice++) await measurement.pair();
  const compared = await measurement.compare();
  const pairs = await measurement.pairs(seconds);
  return {
    ...compared,
    logRatios: blocksOf(pairs),
    nsPerCheck: [
      (middle(pairs.map(([one]) => one)) / TURN_CHECKS) * 1e6,
      (middle(pairs.map(([, other]) => other)) / TURN_CHECKS) * 1e6,
    ],
    bytesPerCheck: await measurement.bytes(),
  };
}

/** Mean logarithm of the ratios of each two pairs, in which each build went first once. */
function blocksOf(pairs: readonly Pair[]): number[] {
  const logarithms = pairs.map(([one, other]) => Math.log(one / other));
  const blocks: number[] = [];
  for (let index = 0; index + 1 < logarithms.length; index += 2) {
    blocks.push(((logarithms[index] as number) + (logarithms[index + 1] as number)) / 2);
  }
  return blocks;
}

process.once('disconnect', () => process.exit(1));
process.once('message', (options: PriceOptions) => {
  measurePrice(options).then(
    (figures) => process.send?.({ figures }, () => process.exit(0)),
    (error: Error) => process.send?.({ error: error.stack }, () => process.exit(1)),
  );
});
