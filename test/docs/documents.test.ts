// Tests the documents: every link leads somewhere, every file that they name exists, and so does every
// document that code, tests and deployment files name. The README stays short and leads to all of them. All
// decision records have one form, and every decision is listed once: with a file, or as a line.

import { readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDdiAddress } from '../../src/updater/ddi.ts';
import { ELECTRON_FOR_ARCH } from '../../src/updater/electron.ts';
import { MANIFEST } from '../../src/updater/manifest.ts';
import { sparkle } from '../../src/updater/sparkle.ts';
import { SQUIRREL_MAC } from '../../src/updater/squirrel-mac.ts';
import { VELOPACK } from '../../src/updater/velopack.ts';
import {
  anchorsOf,
  type Document,
  filesBelow,
  isInRepository,
  listDocuments,
  proseOf,
  quotedIn,
  readDocument,
  repositoryPath,
  sectionOf,
  tableRows,
} from './document.ts';

/** Paths that exist only once something was built or runs, or that belong to another project. */
const NOT_IN_THE_REPOSITORY: ReadonlySet<string> = new Set([
  ...['dist/', 'dist/main.js', 'dist/cli-package', 'dist/THIRD-PARTY-LICENSES'],
]);
const TOP_FOLDERS = ['src', 'test', 'bench', 'scripts', 'docs', 'dist', '.ci'];
const DOCUMENT_NAMED = /\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g;
const OWN_FILE = /^[\w./-]+\.(?:ts|tsx|mjs|md|sql|lua|png)$/;

const documents = listDocuments();

it.each(documents)('$path links to, and names, what exists', (document) => {
  const prose = proseOf(document);
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to);
  const local = links.filter((to) => !/^(?:https?|mailto):/.test(to));
  expect(local.filter((to) => !leadsSomewhere(document, to))).toEqual([]);
  const named = quotedIn(prose).filter(looksLikePath);
  const missing = named.filter((path) => !NOT_IN_THE_REPOSITORY.has(path) && !isInRepository(path));
  expect(missing).toEqual([]);
});

it('code, tests and deployment files name documents and headings that exist', () => {
  const root = { path: '', text: '' };
  const named = filesBelow('src', 'test', 'bench', 'scripts', 'deploy').flatMap(
    ({ text }) => text.match(DOCUMENT_NAMED) ?? [],
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((to) => !leadsSomewhere(root, to))).toEqual([]);
});

it('npm scripts that documents name exist, and those that people call are all named', () => {
  const { scripts } = JSON.parse(readDocument('package.json').text) as {
    scripts: Record<string, string>;
  };
  const calls = documents.flatMap(({ text }) => [
    ...text.matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g),
  ]);
  const named = calls.map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  const isCalledByNpm = (name: string) => /^pre|^start$|^test$/.test(name);
  const called = Object.keys(scripts).filter((name) => !isCalledByNpm(name));
  expect(called.filter((name) => !named.includes(name))).toEqual([]);
});

/** With the address for each updater of desktop apps, which are what most readers come with. */
const LINES_MAX = 200;
const COLUMNS_MAX = 120;

const { text } = readDocument('README.md');
const lines = text.trimEnd().split('\n');
const { path: SPARKLE_PATH } = sparkle({
  ready: () => undefined,
  document: () => Buffer.alloc(0),
});
/** Updaters of desktop apps, each with what its client appends to the address of its block. */
const UPDATERS: readonly (readonly [string, string, string])[] = [
  ['Tauri', MANIFEST.path, ''],
  ['electron-updater', ELECTRON_FOR_ARCH.path, '/latest.yml'],
  ['update-electron-app', SQUIRREL_MAC.path, '/notes/stable/darwin-arm64/1.0.0'],
  ['Velopack', VELOPACK.path, '/releases.win.json'],
  ['Sparkle', SPARKLE_PATH, ''],
];

describe('the README', () => {
  it(`has at most ${LINES_MAX} lines of at most ${COLUMNS_MAX} columns`, () => {
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(lines.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
  });

  it.each(['npm ci && npm start', 'npm ci && npm test'])('has the command `%s`', (command) => {
    expect(lines).toContain(`    ${command}`);
  });

  const section = sectionOf(readDocument('README.md'), 'Apps and devices');
  const asked = [
    ...section.matchAll(/^([^:]+): https:\/\/updates\.example\.com([^\s"'<?,]+)(.*)$/gm),
  ];

  it('has one address for each updater of desktop apps, which is one of the service', () => {
    const ofApps = asked.filter(([, name]) => name !== 'SWUpdate');
    expect(ofApps).toHaveLength(UPDATERS.length);
    for (const [index, [name, pattern, appended]] of UPDATERS.entries()) {
      const address = `${ofApps[index]?.[2]}${appended}`;
      const form = pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+');
      expect(address, name).toMatch(new RegExp(`^${form}$`));
    }
  });

  it('has the server and the tenant of SWUpdate, which together tell the device', () => {
    const [, , server = '', rest = ''] = asked.find(([, name]) => name === 'SWUpdate') ?? [];
    const tenant = / with the tenant (\S+)$/.exec(rest)?.[1];
    expect(readDdiAddress(`${server}/${tenant}/controller/v1/gw-1`)).toMatchObject({
      ...{ app: 'gateway', channel: 'stable', machine: ['linux', 'aarch64', '1.4.0'] },
    });
  });

  it('leads to every document', () => {
    const others = listDocuments().filter(({ path }) => path !== 'README.md');
    const single = others.filter(
      ({ path }) => !/^docs\/(?:decisions\/\d|operating\/[a-z])/.test(path),
    );
    const missing = single.filter(({ path }) => !text.includes(`](${path})`));
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

it('documents name the package of the command by the present version, packed where git ignores it', () => {
  const { version } = JSON.parse(readDocument('package.json').text) as { version: string };
  const all = listDocuments()
    .map(({ text }) => text)
    .join('\n');
  const named = [...all.matchAll(/sluice-cli-(\d[\d.]*\d)\.tgz/g)].map(([, told]) => told);
  expect(new Set(named)).toEqual(new Set([version]));
  const packed = [...all.matchAll(/npm pack \.\/dist\/cli-package\s*(\S* \w+)/g)];
  expect(packed.length).toBeGreaterThan(1);
  expect(new Set(packed.map(([, to]) => to))).toEqual(new Set(['--pack-destination dist']));
  expect(readDocument('.gitignore').text.split('\n')).toContain('dist/');
});

it.each(documents)(`$path has prose of at most ${COLUMNS_MAX} columns`, (document) => {
  // Tables and code cannot be wrapped.
  const prose = document.text.replace(/^ *```.*?^ *```$/gms, '').split('\n');
  const wrapped = prose.filter((line) => !/^(?:\||\s{4}|!\[)/.test(line));
  expect(wrapped.filter((line) => [...line].length > COLUMNS_MAX)).toEqual([]);
});

const HEADINGS = ['Context', 'Decision', 'The option that lost', 'Consequences'];

const names = readdirSync(join(repositoryPath, 'docs/decisions'))
  .filter((name) => name !== 'README.md')
  .sort();

const list = readDocument('docs/decisions/README.md').text;

it.each(names)('docs/decisions/%s has its four headings, and is listed', (name) => {
  const { text } = readDocument(`docs/decisions/${name}`);
  const parts = text.split(/^## /m).slice(1);
  expect(parts.map((part) => part.split('\n')[0])).toEqual(HEADINGS);
  for (const part of parts) expect(part.split('\n').slice(1).join('').length).toBeGreaterThan(40);
  const [, number = '', title = ''] = /^# (\d{4})\. (.+)\n/.exec(text) ?? [];
  expect(name.startsWith(`${number}-`)).toBe(true);
  expect(list).toContain(`| [${number}](${name}) | ${title} |`);
});

describe('decisions', () => {
  it('are numbered from 1 without a gap: those with a file, and those with a line', () => {
    const listed = tableRows(list).map(([number = '']) =>
      Number(number.replace(/^\[?(\d{4}).*/, '$1')),
    );
    expect(listed.toSorted((a, b) => a - b)).toEqual(listed.map((_, at) => at + 1));
    expect(listed.length).toBeGreaterThan(60);
  });

  it('without a file say what was decided', () => {
    const lines = tableRows(list).filter(([number = '']) => /^\d{4}$/.test(number));
    const found = lines.filter(([number = '']) => names.some((name) => name.startsWith(number)));
    expect(found).toEqual([]);
    for (const [, decided = ''] of lines) expect(decided.length).toBeGreaterThan(40);
  });
});

function leadsSomewhere({ path }: Document, to: string): boolean {
  const [file = '', heading] = to.split('#');
  const target = file === '' ? path : posix.join(posix.dirname(path), file);
  if (!isInRepository(target)) return false;
  return heading === undefined || anchorsOf(readDocument(target)).has(heading);
}

/**
 * Tells names below one of the repository's folders, or with an ending of its files; not with `NAME` in them.
 */
function looksLikePath(quoted: string): boolean {
  if (/[\s*{<…]|NAME/.test(quoted)) return false;
  return OWN_FILE.test(quoted) || TOP_FOLDERS.some((folder) => quoted.startsWith(`${folder}/`));
}
