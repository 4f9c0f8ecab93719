// Tests that every link of the documents leads somewhere, and that every file they name exists.

import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Document,
  isInRepository,
  listDocuments,
  proseOf,
  quotedIn,
  readDocument,
} from './document.ts';

/** Paths that exist only once something was built or runs, or that belong to another project. */
const NOT_IN_THE_REPOSITORY: ReadonlySet<string> = new Set([
  'dist/',
  'dist/main.js',
  'dist/cli-package',
]);
const TOP_FOLDERS = ['src', 'test', 'bench', 'scripts', 'docs', 'dist', '.ci'];
const OWN_FILE = /^[\w./-]+\.(?:ts|tsx|mjs|md|sql|lua|png)$/;

const documents = listDocuments();

describe.each(documents)('$path', (document) => {
  it('links to files and headings that exist', () => {
    const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to);
    const local = links.filter((to) => !/^(?:https?|mailto):/.test(to));
    expect(local.filter((to) => !leadsSomewhere(document, to))).toEqual([]);
  });

  it('names files that exist', () => {
    const named = quotedIn(proseOf(document)).filter(looksLikePath);
    const missing = named.filter(
      (path) => !NOT_IN_THE_REPOSITORY.has(path) && !isInRepository(path),
    );
    expect(missing).toEqual([]);
  });
});

describe('npm scripts', () => {
  const { scripts } = JSON.parse(readDocument('package.json').text) as {
    scripts: Record<string, string>;
  };
  const named = documents.flatMap(({ text }) =>
    [...text.matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g)].map(([, name = '']) => name),
  );

  it('that documents name exist', () => {
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it('that people call are all named', () => {
    const isCalledByNpm = (name: string) =>
      name.startsWith('pre') || ['start', 'test'].includes(name);
    const missing = Object.keys(scripts).filter((name) => !isCalledByNpm(name));
    expect(missing.filter((name) => !named.includes(name))).toEqual([]);
  });
});

function leadsSomewhere({ path }: Document, to: string): boolean {
  const [file = '', heading] = to.split('#');
  const target = file === '' ? path : posix.join(posix.dirname(path), file);
  if (!isInRepository(target)) return false;
  return heading === undefined || headingsOf(readDocument(target)).has(heading);
}

/** Returns the anchors that a code host makes of the headings. */
function headingsOf(document: Document): ReadonlySet<string> {
  const titles = [...proseOf(document).matchAll(/^#{1,6} (.*)$/gm)].map(([, title = '']) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/**
 * Tells names below one of the repository's folders, or with an ending of its files; not with `NAME` in them.
 */
function looksLikePath(quoted: string): boolean {
  if (/[\s*{<…]|NAME/.test(quoted)) return false;
  return OWN_FILE.test(quoted) || TOP_FOLDERS.some((folder) => quoted.startsWith(`${folder}/`));
}
