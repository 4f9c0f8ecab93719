// Which tests reach a mutant: in a copy of the tree the function of each mutant notes when it runs, and all
// tests run there one after the other. A mutant is then judged by the tests in whose time its function ran,
// in their own process or in a node. A mutant that runs at the start of a node of all, or in no function, is
// judged by all. What a test reaches only by chance is missed: `survivors` runs everything.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parseSync } from 'oxc-parser';
import { located, type Mutant } from './mutant.ts';

/** Tests that reach a mutant, by file; undefined for every test. */
export type Reach = ReadonlyMap<string, readonly string[]> | undefined;

/** Tests above which their files run whole: a longer pattern is dearer than the tests. */
const TESTS_MAX = 300;
/** Milliseconds by which a note may be later than the end of its test. */
const LATE_MS = 5;

type Span = {
  readonly file: string;
  readonly test?: string;
  readonly start: number;
  readonly end: number;
};

type Insertion = readonly [at: number, text: string];

/** Tells whether a run of a file can be noted: in a browser, where the console's files run, it cannot. */
export function isProbed(file: string): boolean {
  return file.endsWith('.ts') && !file.startsWith('src/console/');
}

/** Returns the mutants of a source that are in a function. */
export function inFunctions(path: string, text: string, mutants: readonly Mutant[]) {
  const { program } = parseSync(path, text);
  return mutants.filter((mutant) => {
    const { start, end } = located(mutant, text);
    return bodyAround(program, start, end) !== undefined;
  });
}

/** Returns a source in which the function around each mutant notes that it runs. */
export function probed(path: string, text: string, mutants: readonly Mutant[], probe: string) {
  const { program } = parseSync(path, text);
  const insertions = mutants.flatMap((mutant): Insertion[] => {
    const { start, end } = located(mutant, text);
    const body = bodyAround(program, start, end);
    if (body === undefined) return [];
    const call = `reachMutant(${JSON.stringify(mutant.id)})`;
    if (body.type === 'BlockStatement') return [[body.start + 1, ` ${call};`]];
    return [
      [body.start, `(${call}, `],
      [body.end, ')'],
    ];
  });
  const last = insertions.sort(([a], [b]) => b - a);
  const inserted = last.reduce(
    (all, [at, piece]) => all.slice(0, at) + piece + all.slice(at),
    text,
  );
  return `import { reach as reachMutant } from ${JSON.stringify(probe)};\n${inserted}`;
}

/** Returns the body of the innermost function around a place. */
function bodyAround(node: Node, start: number, end: number): Node | undefined {
  let found: Node | undefined;
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (!isAround(each, start, end)) continue;
      found = bodyAround(each, start, end);
      const { body } = each as { readonly body?: Node | null };
      const isFunction = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunction)/.test(
        each.type,
      );
      if (found === undefined && isFunction && body) found = body;
    }
  }
  return found;
}

function isAround(value: unknown, start: number, end: number): value is Node {
  if (typeof value !== 'object' || value === null || !('start' in value)) return false;
  const node = value as Node;
  return 'type' in node && node.start <= start && end <= node.end;
}

/** Reads what a run noted in a folder: the tests that reach each mutant. */
export function readReach(folder: string, root: string): ReadonlyMap<string, Reach> {
  const spans = linesOf(join(folder, 'spans.jsonl'))
    .map((line) => JSON.parse(line) as Span)
    .map((span) => ({ ...span, file: span.file.slice(root.length + 1) }))
    .sort((a, b) => a.start - b.start);
  const tests = spans.filter(({ test }) => test !== undefined);
  const files = spans.filter(({ test }) => test === undefined);
  const found = new Map<string, Map<string, Set<string>> | undefined>();
  for (const line of linesOf(join(folder, 'reached.txt'))) {
    const [at, id = ''] = line.split(' ');
    const reached = found.has(id) ? found.get(id) : new Map<string, Set<string>>();
    found.set(id, reached && addReached(reached, Number(at), tests, files));
  }
  return new Map(
    [...found].map(([id, reached]) => [
      id,
      reached && new Map([...reached].map(([file, names]) => [file, [...names]])),
    ]),
  );
}

function linesOf(path: string): readonly string[] {
  return readFileSync(path, 'utf8').trim().split('\n');
}

/** Adds the test of a time, or all of a file in whose hooks it is; undefined where it is in no file. */
function addReached(
  reached: Map<string, Set<string>>,
  at: number,
  tests: readonly Span[],
  files: readonly Span[],
): Map<string, Set<string>> | undefined {
  const exact = spanAt(tests, at);
  const file = exact?.file ?? spanAt(files, at)?.file;
  // Before the first file: the nodes that all use start.
  if (file === undefined) return undefined;
  const names = exact ? [exact] : tests.filter((span) => span.file === file);
  const known = reached.get(file) ?? new Set();
  for (const { test = '' } of names) known.add(test);
  return reached.set(file, known);
}

/** Returns the last of these spans, by their begin, that has not ended at a time. */
function spanAt(spans: readonly Span[], at: number): Span | undefined {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.start ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const span = spans[low - 1];
  return span !== undefined && at <= span.end + LATE_MS ? span : undefined;
}

/** Returns vitest's arguments for the tests of some suites that reach a mutant; none where none does. */
export function argumentsOf(reach: Reach, suites: readonly string[]): readonly string[] {
  if (reach === undefined) return suites;
  const files = [...reach].filter(([file]) => suites.some((suite) => file.startsWith(suite)));
  if (files.length === 0) return [];
  const paths = files.map(([file]) => file);
  const names = files.flatMap(([, tests]) => tests);
  if (names.length > TESTS_MAX) return paths;
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return [...paths, '--testNamePattern', `^(?:${pattern})$`];
}
