// Runs the processes in which two builds are measured, one after another, and puts their figures together.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MOST_SHARE, weighSession } from '../machine/place-process.ts';
import { median } from '../measure/statistics.ts';
import { startArguments } from '../suite/checkout.ts';
import type { PreparedBuild } from './inside/entered-build.ts';
import type { PriceOptions, ProcessFigures } from './inside/measure-price.ts';
import { compileInside, copyBuild, prepareBuild, programIn } from './prepared-build.ts';
import { type ProcessBlocks, priceInterval } from './price-interval.ts';

export type PricePace = Pick<PriceOptions, 'warmupSlices' | 'seconds'> & {
  /** Number of processes, an even one: half of them load the one build first, half the other. */
  readonly processes: number;
};

/** Two builds that are ready to be measured, the present one first. */
export type PricePair = {
  readonly builds: readonly [PreparedBuild, PreparedBuild];
  readonly inside: string;
  remove(): void;
};

/** Figures of a scenario as they stand in the JSON file; pairs are present and other. */
export type Price = Awaited<ReturnType<typeof measureScenario>>;

const OUTPUT_CHARACTERS_MAX = 2000;
/** Maximum share of answers that may differ: a few without a body end their connection, at random. */
const DIFFERING_BY_CHANCE = 0.01;
/** Time in seconds that a process may take beside warming up and measuring: a busy machine loads slowly. */
const LOAD_SECONDS_MAX = 240;

/** Prepares two builds, until `remove` or the end of this process; undefined is the present tree. */
export function preparePair(commits: readonly [string | undefined, string | undefined]): PricePair {
  const parent = mkdtempSync(join(tmpdir(), 'sluice-price-'));
  const discard = () => rmSync(parent, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', discard);
  const remove = (): void => {
    process.off('exit', discard);
    discard();
  };
  try {
    const inside = compileInside(parent);
    const [present, other] = commits;
    const first = prepareBuild(join(parent, '0'), inside, present);
    const folder = join(parent, '1');
    const second =
      other === present ? copyBuild(first, folder) : prepareBuild(folder, inside, other);
    return { builds: [first, second], inside, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Measures a scenario; `delaysNs` makes the builds slower on purpose. */
export async function measureScenario(
  { builds, inside }: PricePair,
  scenario: string,
  { processes, warmupSlices, seconds }: PricePace,
  delaysNs: readonly [number, number] = [0, 0],
) {
  const runs: (ProcessFigures & ProcessBlocks)[] = [];
  const complaints = new Set<string>();
  for (let place = 0; place < processes; place++) {
    // In the order ABBA as well, since machines drift.
    const first = (place + 1) & 2 ? 1 : 0;
    const options = { builds, first, scenario, warmupSlices, seconds, delaysNs } as const;
    const { figures, output } = await runProcess(inside, options);
    runs.push({ ...figures, first });
    if (output !== '') complaints.add(output);
  }
  const middles = (pair: (run: ProcessFigures) => readonly [number, number]) =>
    ([0, 1] as const).map((side) => median(runs.map((run) => pair(run)[side])));
  const differing = Math.max(...runs.map((run) => run.differing / run.compared));
  return {
    ...{ scenario, ...priceInterval(runs), processes },
    blocks: runs.reduce((sum, { logRatios }) => sum + logRatios.length, 0),
    nsPerCheck: middles(({ nsPerCheck }) => nsPerCheck),
    bytesPerCheck: middles(({ bytesPerCheck }) => bytesPerCheck),
    callsPerCheck: middles(({ callsPerCheck }) => callsPerCheck),
    byProcess: runs.map(({ first, logRatios }) => ({ first, ratio: Math.exp(median(logRatios)) })),
    ...{ statuses: runs[0]?.statuses ?? {}, differing },
    remarks: [
      ...(differing <= DIFFERING_BY_CHANCE
        ? []
        : [`the two answer differently: ${Math.round(differing * 100)} % of the answers`]),
      ...[...complaints].map((output) => `a build complained: ${output}`),
    ],
  };
}

/** Lets a process measure; what its builds printed is `output`. */
async function runProcess(inside: string, options: PriceOptions) {
  const { folder } = options.builds[0];
  const child = fork(programIn(inside), {
    // Those of the service: they are about its memory.
    execArgv: startArguments(folder).slice(0, -1),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A session of its own, which gets its processor before others where that is allowed.
    detached: true,
  });
  weighSession(child.pid ?? -1, MOST_SHARE);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, OUTPUT_CHARACTERS_MAX);
    });
  }
  const msMax = (LOAD_SECONDS_MAX + options.seconds) * 1000;
  const deadline = setTimeout(() => child.kill('SIGKILL'), msMax);
  try {
    child.send(options);
    const ended = once(child, 'exit').then(() => [{ error: `a process ended: ${output}` }]);
    const [told] = (await Promise.race([once(child, 'message'), ended])) as [
      { readonly figures?: ProcessFigures; readonly error?: string },
    ];
    if (told.figures === undefined) throw new Error(told.error);
    return { figures: told.figures, output: output.trim() };
  } finally {
    clearTimeout(deadline);
    child.kill('SIGKILL');
    for (const { dataDir } of options.builds) {
      if (existsSync(dataDir)) rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}
