// Known names of platforms, and the nearest one to a misspelt name.

import { foldPlatform } from '../../decision/artifact/artifact.ts';

/** Platforms that files are built for, with their aliases. */
const KNOWN: readonly string[] = [
  ...['darwin', 'windows', 'linux', 'android', 'ios'],
  ...['freebsd', 'openbsd', 'netbsd', 'dragonfly', 'solaris', 'illumos', 'aix'],
  ...['macos', 'mac', 'osx', 'win32', 'win'],
];
const FOLDED: ReadonlySet<string> = new Set(KNOWN.map(foldPlatform));

/** Returns the known name with the fewest edits; undefined if the platform is known. */
export function nearestPlatform(platform: string): string | undefined {
  if (FOLDED.has(foldPlatform(platform))) return undefined;
  const name = platform.toLowerCase();
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const known of KNOWN) {
    const edits = editsBetween(name, known);
    if (edits >= fewest) continue;
    nearest = known;
    fewest = edits;
  }
  return nearest;
}

/** Counts the letters to insert, delete or replace to turn one text into the other (Levenshtein distance). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1];
    for (let other = 0; other < to.length; other++) {
      const replaced = (row[other] ?? 0) + (from[index] === to[other] ? 0 : 1);
      next.push(Math.min(replaced, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
