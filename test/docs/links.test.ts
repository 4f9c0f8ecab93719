// Tests that every link of the documents leads somewhere, that every file they name exists, and so does every
// document that code, tests and deployment files name.

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  anchorsOf,
  type Document,
  isInRepository,
  listDocuments,
  proseOf,
  quotedIn,
  readDocument,
  repositoryPath,
} from './document.ts';

/** Paths that exist only once something was built or runs, or that belong to another project. */
const NOT_IN_THE_REPOSITORY: ReadonlySet<string> = new Set([
  'dist/',
  'dist/main.js',
  'dist/cli-package',
  'dist/THIRD-PARTY-LICENSES',
]);
const TOP_FOLDERS = ['src', 'test', 'bench', 'scripts', 'docs', 'dist', '.ci'];
const NOT_DOCUMENTS = ['src', 'test', 'bench', 'scripts', 'deploy'];
const DOCUMENT_NAMED = /\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g;
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

describe('code, tests and deployment files', () => {
  it('name documents and headings that exist', () => {
    const root = { path: '', text: '' };
    const named = NOT_DOCUMENTS.flatMap(textsBelow).flatMap(
      (text) => text.match(DOCUMENT_NAMED) ?? [],
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((to) => !leadsSomewhere(root, to))).toEqual([]);
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
  return heading === undefined || anchorsOf(readDocument(target)).has(heading);
}

function textsBelow(folder: string): string[] {
  const entries = readdirSync(join(repositoryPath, folder), {
    recursive: true,
    withFileTypes: true,
  });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
}

/**
 * Tells names below one of the repository's folders, or with an ending of its files; not with `NAME` in them.
 */
function looksLikePath(quoted: string): boolean {
  if (/[\s*{<…]|NAME/.test(quoted)) return false;
  return OWN_FILE.test(quoted) || TOP_FOLDERS.some((folder) => quoted.startsWith(`${folder}/`));
}
