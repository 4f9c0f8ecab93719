// What the tests are worth: makes small changes of the source, one at a time, and tells which tests notice
// them. Its figures stand in scripts/mutants: `chosen.json` has the mutants, `<round>.jsonl` what became of
// each in a round. A round is one state of the tests: `before` shows every test that notices a mutant,
// `after` only whether a test still does. A mutant is judged by the tests of its area that reach it: all by
// units, then those that no unit notices by what needs servers, until one does. Beside an earlier round it
// is first judged by the files that noticed it there, and what only units have judged there by what needs
// servers.
//
//   npx tsx scripts/mutants.ts choose                 writes chosen.json (seed 1, 23 of each area)
//   npx tsx scripts/mutants.ts run before --hours 2   goes on with those that have no result yet
//   npx tsx scripts/mutants.ts run after --than before
//                                                     leaves out what lived, and begins with what noticed it
//   npx tsx scripts/mutants.ts again after access-6 fleet-12
//                                                     judges these anew: there are new tests
//   npx tsx scripts/mutants.ts survivors before       runs every test against those that lived
//   npx tsx scripts/mutants.ts report before          tells how many live, and what each suite notices alone
//   npx tsx scripts/mutants.ts lost before after      lists what only the first round noticed

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { AREAS, type Area } from './mutants/areas.ts';
import { chooseMutants, isThere, type Mutant, ROOT } from './mutants/mutant.ts';
import { argumentsOf, isProbed, type Reach } from './mutants/reach.ts';
import { type Verdict, Workshop } from './mutants/workshop.ts';

const FOLDER = join(import.meta.dirname, 'mutants');
const CHOSEN = join(FOLDER, 'chosen.json');
const SEED = 1;
const OF_AREA = 23;
/** Times that the suites of an area may take what they take without a mutation; then it counts as noticed. */
const LATE_FACTOR = 4;
/** Suites of the part `servers` (vitest.config.ts). */
const NEEDS_SERVERS = /^test\/(?:service|browser|store\/(?:engine|ledger))\b/;
const UNCHANGED = { secondsMax: 900, isFirst: false };
const EVERYTHING = { secondsMax: 1800, isFirst: false };

/** Tests that judge a mutant: units of its area, then what needs servers there, then everything. */
type Extent = 'units' | 'area' | 'everything';
const EXTENTS = ['units', 'area'] as const;
/** What became of a mutant. */
type Result = Omit<Verdict, 'passed'> & { readonly id: string; readonly extent: Extent };

const program = new Command('mutants').description(
  'shows which tests notice a change of the source',
);
program.command('choose').action(choose);
program
  .command('run <round>')
  .option('--hours <n>', 'hours to run', Number, 6)
  .option('--area <name>')
  .option(
    '--than <round>',
    'not what lived in this round, and only whether a test still notices it',
  )
  .action(run);
program
  .command('again <round> <ids...>')
  .description('judges these by units and what needs servers, whatever became of them')
  .action(judgeAgain);
program
  .command('survivors <round>')
  .option('--hours <n>', 'hours to run', Number, 6)
  .action(runSurvivors);
program.command('report <round>').action(report);
program.command('lost <before> <after>').action(reportLost);
await program.parseAsync();

function choose(): void {
  const chosen = chooseMutants(SEED, OF_AREA);
  writeFileSync(CHOSEN, `[\n${chosen.map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n]\n`);
  for (const { name } of AREAS) {
    console.log(`${name}: ${chosen.filter(({ area }) => area === name).length}`);
  }
}

type Options = { readonly hours: number; readonly area?: string; readonly than?: string };

/** Judges the mutants that have no result, by the suites of their areas, until the time is over. */
async function run(round: string, { hours, area: only, than }: Options): Promise<void> {
  const earlier = than === undefined ? undefined : latestResults(than);
  await withWorkshop(hours, async (workshop, isOver) => {
    const reach = earlier === undefined ? await reachOf(workshop) : undefined;
    for (const extent of EXTENTS) {
      for (const area of AREAS.filter(({ name }) => only === undefined || name === only)) {
        const part = partOf(workshop, area, extent);
        for (const mutant of openMutants(round, area, extent, earlier)) {
          if (isOver()) return;
          const killers = killersOf(earlier?.get(mutant.id)).filter(part.has);
          const tests = [killers, argumentsOf(reach?.get(mutant.id), part.suites)];
          const isFirst = extent === 'area' || earlier !== undefined;
          record(round, mutant, await judgeBy(workshop, mutant, part, tests, isFirst), extent);
        }
      }
    }
  });
}

/**
 * Returns the mutants of an area that a round has to judge yet. An earlier round leaves out what lived in it
 * and what is no more; what only units have judged there goes on with what needs servers.
 */
function openMutants(
  round: string,
  area: Area,
  extent: Extent,
  earlier: ReadonlyMap<string, Result> | undefined,
): readonly Mutant[] {
  const results = latestResults(round);
  return readChosen().filter((mutant) => {
    const [result, before] = [results.get(mutant.id), earlier?.get(mutant.id)];
    if (mutant.area !== area.name || (earlier !== undefined && before === undefined)) return false;
    if (before !== undefined && !isThere(mutant)) return false;
    const last = result ?? (before && !isNoticed(before) ? before : undefined);
    if (last === undefined) return extent === 'units';
    return extent === 'area' && last.extent === 'units' && !isNoticed(last);
  });
}

/** Suites of an area that run together. */
type Part = {
  readonly suites: readonly string[];
  has(file: string): boolean;
  /** Seconds that its suites may take. Runs them without a change once; throws if they then fail. */
  secondsMax(): Promise<number>;
};

/** Returns the units of an area, or what needs servers there. */
function partOf(workshop: Workshop, area: Area, extent: Extent): Part {
  const has = (file: string) => NEEDS_SERVERS.test(file) === (extent === 'area');
  const suites = pathsOf(area).filter(has);
  let secondsMax: Promise<number> | undefined;
  const measure = async () => {
    const { passed, seconds } = await judgeUnchanged(workshop, area, suites);
    console.log(`${area.name}: ${passed} tests in ${seconds} s without a change`);
    return seconds * LATE_FACTOR;
  };
  return { suites, has, secondsMax: () => (secondsMax ??= measure()) };
}

/** Returns the files that noticed a mutant in an earlier round, and are there still. */
function killersOf(result: Result | undefined): readonly string[] {
  const files = new Set(result?.failed.map((test) => test.split(' > ')[0] ?? ''));
  return [...files].filter((file) => existsSync(join(ROOT, file)));
}

/** Judges mutants by the units of their areas, then by what needs servers there, until one notices them. */
async function judgeAgain(round: string, ids: readonly string[]): Promise<void> {
  await withWorkshop(Number.POSITIVE_INFINITY, async (workshop) => {
    for (const area of AREAS) {
      const parts = EXTENTS.map((extent) => ({ extent, part: partOf(workshop, area, extent) }));
      const mutants = readChosen().filter(({ id }) => ids.includes(id));
      for (const mutant of mutants.filter((each) => each.area === area.name && isThere(each))) {
        for (const { extent, part } of parts) {
          const verdict = await judgeBy(workshop, mutant, part, [part.suites], true);
          record(round, mutant, verdict, extent);
          if (isNoticed(verdict)) break;
        }
      }
    }
  });
}

/** Judges by every test those that the suites of their areas did not notice. */
async function runSurvivors(round: string, { hours }: Pick<Options, 'hours'>): Promise<void> {
  const results = latestResults(round);
  const lived = readChosen().filter(({ id }) => {
    const result = results.get(id);
    return result?.extent === 'area' && !isNoticed(result);
  });
  await withWorkshop(hours, async (workshop, isOver) => {
    for (const mutant of lived) {
      if (isOver()) return;
      const verdict = await workshop.judge(mutant, [], EVERYTHING);
      record(round, mutant, verdict, 'everything');
    }
  });
}

/** Returns the tests that reach each mutant; measures them once for a commit. */
async function reachOf(workshop: Workshop): Promise<ReadonlyMap<string, Reach>> {
  const path = join(ROOT, 'node_modules/.cache', `mutants-${workshop.commit}.json`);
  if (!existsSync(path)) {
    const probed = new Set(
      readChosen().flatMap(({ area, file }) => (isProbed(file) ? [area] : [])),
    );
    const suites = AREAS.filter(({ name }) => probed.has(name)).flatMap(pathsOf);
    const measured = await workshop.measureReach(readChosen(), [...new Set(suites)]);
    const rows = [...measured].map(([id, tests]) => [id, tests && [...tests]]);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(rows));
  }
  const rows = JSON.parse(readFileSync(path, 'utf8')) as readonly ReachRow[];
  return new Map(rows.map(([id, tests]) => [id, tests ? new Map(tests) : undefined]));
}

type ReachRow = readonly [id: string, tests: readonly [string, readonly string[]][] | null];

/** Judges a mutant by one selection of a part after the other until one notices it; without any it lives. */
async function judgeBy(
  workshop: Workshop,
  mutant: Mutant,
  part: Part,
  selections: readonly (readonly string[])[],
  isFirst: boolean,
): Promise<Verdict> {
  let verdict: Verdict = { failed: [], passed: 0, isLate: false, seconds: 0 };
  for (const tests of selections) {
    if (tests.length === 0) continue;
    verdict = await workshop.judge(mutant, tests, { secondsMax: await part.secondsMax(), isFirst });
    if (isNoticed(verdict)) break;
  }
  return verdict;
}

async function judgeUnchanged(
  workshop: Workshop,
  { name }: Area,
  suites: readonly string[],
): Promise<Verdict> {
  const verdict = await workshop.judge(undefined, suites, UNCHANGED);
  if (verdict.isLate || verdict.failed.length > 0 || verdict.passed === 0) {
    throw new Error(`${name} fails without a change: ${verdict.failed.join('; ') || 'late'}`);
  }
  return verdict;
}

/** Returns the suites of an area that this commit has. */
function pathsOf({ suites }: Area): readonly string[] {
  const paths = suites.map((suite) => `test/${suite}`);
  return paths.filter((path) => existsSync(join(ROOT, path)));
}

async function withWorkshop(
  hours: number,
  work: (workshop: Workshop, isOver: () => boolean) => Promise<void>,
): Promise<void> {
  const end = performance.now() + hours * 3_600_000;
  const workshop = new Workshop();
  try {
    await work(workshop, () => performance.now() > end);
  } finally {
    workshop.remove();
  }
}

function record(
  round: string,
  mutant: Mutant,
  { failed, isLate, seconds }: Verdict,
  extent: Extent,
): void {
  const result: Result = { id: mutant.id, extent, failed, isLate, seconds };
  appendFileSync(resultsOf(round), `${JSON.stringify(result)}\n`);
  const found = isLate ? 'late' : `${failed.length} noticed`;
  console.log(`${describe(mutant)}: ${found} (${seconds} s)`);
}

function readChosen(): readonly Mutant[] {
  return JSON.parse(readFileSync(CHOSEN, 'utf8')) as readonly Mutant[];
}

function resultsOf(round: string): string {
  return join(FOLDER, `${round}.jsonl`);
}

function readResults(round: string): readonly Result[] {
  const path = resultsOf(round);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Result);
}

/** The last result of each mutant. */
function latestResults(round: string): ReadonlyMap<string, Result> {
  return new Map(readResults(round).map((result) => [result.id, result]));
}

function isNoticed({ failed, isLate }: Pick<Verdict, 'failed' | 'isLate'>): boolean {
  return isLate || failed.length > 0;
}

function report(round: string): void {
  const results = [...latestResults(round).values()];
  const mutants = new Map(readChosen().map((each) => [each.id, each]));
  for (const { name } of AREAS) {
    const own = results.filter(({ id }) => mutants.get(id)?.area === name);
    console.log(`${name}: ${own.filter(isNoticed).length} of ${own.length} noticed`);
  }
  console.log('\nlived:');
  for (const { id, extent } of results.filter((each) => !isNoticed(each))) {
    console.log(`  ${describe(mutants.get(id))} (${extent})`);
  }
  console.log('\nsuites by mutants that they noticed, and noticed alone:');
  for (const [file, all, alone] of countBySuite(results)) console.log(`  ${file} ${all} ${alone}`);
}

/** Lists what a round noticed and a later one does not, with the tests that did. */
function reportLost(before: string, after: string): void {
  const later = latestResults(after);
  const mutants = new Map(readChosen().map((each) => [each.id, each]));
  const judged = [...latestResults(before).values()].filter(({ id }) => later.has(id));
  const noticed = judged.filter(isNoticed);
  const lost = noticed.filter(({ id }) => !isNoticed(later.get(id) as Result));
  for (const { id, failed } of lost) {
    console.log(`${describe(mutants.get(id))}\n${failed.map((test) => `    ${test}`).join('\n')}`);
  }
  console.log(`${lost.length} lost of ${noticed.length} noticed, ${judged.length} judged twice`);
}

function describe(mutant: Mutant | undefined): string {
  const { id, file, line, before, after } = mutant ?? {};
  return `${id} ${file}:${line} «${before}» → «${after}»`;
}

/** Counts for each file of tests the mutants that it noticed, and those that no other file did. */
function countBySuite(results: readonly Result[]): readonly (readonly [string, number, number])[] {
  const noticed = results.map(
    ({ failed }) => new Set(failed.map((test) => test.split(' > ')[0] ?? '')),
  );
  const files = [...new Set(noticed.flatMap((each) => [...each]))].sort();
  return files.map((file) => {
    const own = noticed.filter((each) => each.has(file));
    return [file, own.length, own.filter((each) => each.size === 1).length] as const;
  });
}
