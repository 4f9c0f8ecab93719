// Runs the house rules on every file of this repository, and on texts that break them one by one: a rule
// without an example of its breach may never look.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { houseRules } from '../scripts/house-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'test', 'bench', 'scripts'];
const NO_NOUN = 'says nothing about what is inside';

/** Returns the complaints about a file; a text without an opening comment gets one. */
function complaintsAbout(path: string, text: string): string[] {
  return houseRules(path, /^(?:\/|#!|--)/.test(text) ? text : `// What it is for.\n${text}`);
}

describe('this repository', () => {
  it('breaks none of the house rules', () => {
    const paths = FOLDERS.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    );
    const complaints = paths.flatMap((file) => {
      const path = relative(ROOT, file).split(sep).join('/');
      return houseRules(path, readFileSync(file, 'utf8')).map((what) => `${path}: ${what}`);
    });
    expect(complaints).toEqual([]);
  });
});

it.each([
  ...['src/domain/fooBar.ts', 'src/http/Shape/foo.ts', 'src/ledger/a_b.sql', 'test/aB.test.ts'].map(
    (path) => [path, 'is not kebab-case'],
  ),
  ...[
    'src/domain/utils.ts',
    'src/http/helpers/a.ts',
    'src/http/misc.ts',
    'src/domain/index.ts',
  ].map((path) => [path, NO_NOUN]),
  ...['test/string-utils.ts', 'scripts/helper.ts'].map((path) => [path, NO_NOUN]),
])('the name %s %s', (path = '', complaint = '') => {
  const found = complaintsAbout(path, path.endsWith('.sql') ? '-- For.' : 'f();');
  expect(found).toEqual([expect.stringMatching(`${complaint}$`)]);
});

describe('comments', () => {
  it.each([
    'src/domain/a.ts',
    'src/console/a.tsx',
    'test/a.test.ts',
    'src/ledger/a.sql',
    'src/a.lua',
  ])('%s opens with one, behind a shebang as well', (path) => {
    const mark = /\.tsx?$/.test(path) ? '//' : '--';
    const missing = ['does not open with a comment on what it is for'];
    expect(houseRules(path, 'select 1;\n')).toEqual(missing);
    expect(houseRules(path, `${mark} What it is for.\nselect;\n`)).toEqual([]);
    if (mark === '--') return;
    expect(houseRules(path, '#!/usr/bin/env node\n// For.\n')).toEqual([]);
    expect(houseRules(path, '#!/usr/bin/env node\nf();\n')).toEqual(missing);
  });

  it.each([
    ...['Of a slot.', 'That it runs.', 'As sent.', 'The same, sorted.', 'Who calls.', 'How many.'],
  ])('a doc comment names its subject: %s', (doc) => {
    for (const path of ['src/domain/a.ts', 'test/a.test.ts', 'bench/a.ts', 'scripts/a.ts']) {
      for (const text of [`/** ${doc} */\nf();`, `  /**\n   * ${doc}\n   */`]) {
        const shown = text.includes('\n   *') ? doc : `${doc} */`;
        const complaint = `a doc comment does not begin with its subject: ${shown}`;
        expect(complaintsAbout(path, `// For.\n${text}`)).toEqual([complaint]);
      }
    }
  });

  it('words that only begin like those are free', () => {
    const text = '// For.\n/** Offers made to a device. */\n/** Assets of a release. */';
    expect(complaintsAbout('src/domain/a.ts', text)).toEqual([]);
  });

  it.each(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'])('%s was left behind', (mark) => {
    expect(complaintsAbout('src/domain/a.ts', `f(); // ${mark}: later`)).toHaveLength(1);
    expect(complaintsAbout('src/ledger/a.sql', `-- ${mark}\nselect 1;`)).toHaveLength(1);
    expect(complaintsAbout('src/domain/a.ts', `f('${mark}');`)).toEqual([]);
  });

  it('none silences the compiler, and a line has at most 110 columns, unless it cannot be broken', () => {
    expect(complaintsAbout('src/domain/a.ts', `// @ts-${'nocheck'}\nf();`)).toHaveLength(1);
    const line = `const a = ${'1 + '.repeat(24)}11;`;
    expect(complaintsAbout('src/domain/a.ts', `// For.\n${line}`)).toEqual([]);
    expect(complaintsAbout('src/domain/a.ts', `// For.\n${line}//2`)).toEqual([
      'line 2 has 112 columns (at most 110)',
    ]);
    expect(complaintsAbout('src/domain/a.ts', `'${'x'.repeat(150)}',`)).toEqual([]);
  });
});

describe('functions in SQL', () => {
  const functionOf = (lines: number): string =>
    `-- For.\nCREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$\n${'\n'.repeat(lines - 2)}$$;\n`;

  it('have at most 120 lines, each by itself', () => {
    const replacing = functionOf(121).replace('CREATE', 'CREATE OR REPLACE');
    const path = 'src/ledger/a.sql';
    expect(complaintsAbout(path, functionOf(120) + functionOf(120))).toEqual([]);
    for (const text of [functionOf(121), functionOf(120) + replacing]) {
      expect(complaintsAbout(path, text)).toEqual(['function f has 121 lines (at most 120)']);
    }
  });
});
