// Mutants of this tree. They are chosen once, by a seed, and written down, so that the same ones judge the
// tests before and after these are changed.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { seededRandom } from '../../bench/random.ts';
import { AREAS, type Area } from './areas.ts';
import {
  type Candidate,
  codeCandidates,
  luaCandidates,
  sqlCandidates,
  statementCandidates,
} from './candidates.ts';

export const ROOT = join(import.meta.dirname, '..', '..');

/** A file with one mutation. */
export type Mutant = Candidate & {
  readonly id: string;
  readonly area: string;
  /** Path below the root. */
  readonly file: string;
  /** Line of the mutation, from 1, and its text before it. */
  readonly line: number;
  readonly lineText: string;
  /** Characters before it on its line. */
  readonly column: number;
};

/** Mutants of one file at most, so that a large file does not stand for its area. */
const OF_FILE_MAX = 3;

/** Chooses mutants of every area: the same ones for a seed and a tree. */
export function chooseMutants(seed: number, ofArea: number): readonly Mutant[] {
  return AREAS.flatMap((area) => chooseInArea(area, seededRandom(seed), ofArea));
}

function chooseInArea(area: Area, random: () => number, count: number): readonly Mutant[] {
  const files = filesOf(area).map((file) => [file, candidatesIn(area, file)] as const);
  const all = files.flatMap(([file, found]) => found.map((candidate) => ({ file, candidate })));
  const chosen: Mutant[] = [];
  while (chosen.length < count && all.length > 0) {
    const [drawn] = all.splice(Math.floor(random() * all.length), 1);
    if (drawn === undefined) break;
    const { file, candidate } = drawn;
    const same = chosen.filter((each) => each.file === file);
    const place = lineOf(readFileSync(join(ROOT, file), 'utf8'), candidate.start);
    if (same.length >= OF_FILE_MAX || same.some(({ line }) => line === place.line)) continue;
    const id = `${area.name.replace(' ', '-')}-${chosen.length + 1}`;
    chosen.push({ id, area: area.name, file, ...place, ...candidate });
  }
  return chosen;
}

/** Returns the text of a file with the mutation; throws where the file no longer has what is changed. */
export function mutated(mutant: Mutant, text: string): string {
  const { start, end, before, after } = located(mutant, text);
  if (text.slice(start, end) !== before)
    throw new Error(`${mutant.id}: ${mutant.file} has changed`);
  return text.slice(0, start) + after + text.slice(end);
}

/** Tells whether the tree still has what a mutation changes. */
export function isThere(mutant: Mutant): boolean {
  const path = join(ROOT, mutant.file);
  if (!existsSync(path)) return false;
  const text = readFileSync(path, 'utf8');
  const { start, end, before } = located(mutant, text);
  return text.slice(start, end) === before;
}

/** Finds the place of a mutation: where it was, or in the one line that has the same text. */
export function located(mutant: Mutant, text: string): Candidate {
  if (lineOf(text, mutant.start).lineText === mutant.lineText) return mutant;
  const at = text.indexOf(mutant.lineText);
  if (at < 0 || text.indexOf(mutant.lineText, at + 1) >= 0) return mutant;
  const start = at + mutant.column;
  return { ...mutant, start, end: start + mutant.before.length };
}

function lineOf(text: string, at: number) {
  const begin = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at);
  const lineText = text.slice(begin, end < 0 ? text.length : end);
  return { line: text.slice(0, begin).split('\n').length, lineText, column: at - begin };
}

function filesOf({ sources, language }: Area): readonly string[] {
  const endings = { code: /\.tsx?$/, sql: /\.(?:ts|sql)$/, lua: /\.lua$/ } as const;
  return sources
    .flatMap((source) => listFiles(join(ROOT, 'src', source)))
    .map((file) => relative(ROOT, file))
    .filter((file) => endings[language].test(file) && !/\/(?:migration|schema)\//.test(file))
    .sort();
}

function listFiles(path: string): readonly string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function candidatesIn({ language }: Area, file: string): readonly Candidate[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  if (file.endsWith('.lua')) return luaCandidates(text);
  if (file.endsWith('.sql')) return sqlCandidates(text);
  return language === 'sql' ? statementCandidates(file, text) : codeCandidates(file, text);
}
