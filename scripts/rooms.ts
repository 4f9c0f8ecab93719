// Figures of the house: its rooms, the imports between them, circles, and how full its folders are.
// `npx tsx scripts/rooms.ts` prints them; `test/rooms.test.ts` holds their bounds.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const SOURCE = join(import.meta.dirname, '..', 'src');
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

export type House = {
  /** Top folders of `src`. */
  readonly rooms: readonly string[];
  /** Imports between rooms, each named once: `http -> contract`. A file beside the rooms is none. */
  readonly arrows: readonly string[];
  /** Folders, at any depth, that import each other, directly or by way of others. */
  readonly circles: readonly (readonly string[])[];
  /** Files of each folder, without those of folders in it. */
  readonly files: ReadonlyMap<string, number>;
  readonly lines: number;
};

/** Reads the whole of `src`. Paths are relative to it, with `/`. */
export function readHouse(): House {
  const texts = new Map(
    readdirSync(SOURCE, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(SOURCE, path).split(sep).join('/'), readFileSync(path, 'utf8')]),
  );
  const imports = [...texts].flatMap(([path, text]) => importsOf(path, text));
  const files = new Map<string, number>();
  for (const path of texts.keys()) files.set(dirname(path), (files.get(dirname(path)) ?? 0) + 1);
  return {
    rooms: [...new Set([...files.keys()].map(roomOf))].filter((room) => room !== '.').sort(),
    arrows: arrowsBetween(imports.map(([from, to]) => [roomOf(from), roomOf(to)])),
    circles: circlesOf(imports.map(([from, to]) => [dirname(from), dirname(to)])),
    files,
    lines: [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0),
  };
}

type Import = readonly [from: string, to: string];

function importsOf(path: string, text: string): Import[] {
  if (!/\.tsx?$/.test(path)) return [];
  return [...text.matchAll(IMPORT)].map(([, target = '']) => [
    path,
    posix.normalize(posix.join(posix.dirname(path), target)),
  ]);
}

function roomOf(path: string): string {
  return path.includes('/') || !path.includes('.') ? (path.split('/')[0] ?? path) : '.';
}

function arrowsBetween(imports: readonly Import[]): string[] {
  const between = imports.filter(([from, to]) => from !== to && from !== '.');
  return [...new Set(between.map(([from, to]) => `${from} -> ${to}`))].sort();
}

/** Returns the folders that can be reached from themselves, those that reach each other together. */
function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of imports) {
    if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  }
  const reaches = new Map([...next.keys()].map((folder) => [folder, reachedFrom(folder, next)]));
  const circles = [...reaches]
    .filter(([folder, reached]) => reached.has(folder))
    .map(([folder, reached]) => [...reached].filter((other) => reaches.get(other)?.has(folder)));
  return [...new Map(circles.map((circle) => [circle.sort().join(), circle])).values()];
}

function reachedFrom(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const open = [start];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const to of next.get(folder) ?? []) {
      if (!reached.has(to)) open.push(to);
      reached.add(to);
    }
  }
  return reached;
}

function print({ rooms, arrows, circles, files, lines }: House): void {
  const [fullest] = [...files].sort(([, a], [, b]) => b - a);
  console.log(`${lines} lines in ${[...files.values()].reduce((sum, count) => sum + count)} files`);
  console.log(`${rooms.length} rooms: ${rooms.join(', ')}`);
  console.log(`${arrows.length} arrows between them:\n  ${arrows.join('\n  ')}`);
  console.log(
    `circles of folders: ${circles.map((circle) => circle.join(', ')).join('; ') || 'none'}`,
  );
  console.log(`fullest folder: ${fullest?.join(' with ')} files`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) print(readHouse());
