// Runs the house rules on every file of this repository, and on texts that break them one by one: a rule
// without an example of its breach may never look.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { houseRules } from '../scripts/house-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'test', 'bench', 'scripts'];

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

describe('names', () => {
  it.each([
    'src/domain/fooBar.ts',
    'src/http/Shape/foo.ts',
    'src/ledger/a_b.sql',
    'test/aB.test.ts',
  ])('%s is not kebab-case', (path) => {
    expect(complaintsAbout(path, path.endsWith('.sql') ? '-- For.' : 'f();')).toEqual([
      expect.stringMatching(/is not kebab-case$/),
    ]);
  });

  it.each([
    'src/domain/utils.ts',
    'src/http/helpers/a.ts',
    'src/http/misc.ts',
    'src/domain/index.ts',
    'test/string-utils.ts',
    'scripts/helper.ts',
  ])('%s says nothing about what is inside', (path) => {
    expect(complaintsAbout(path, 'f();')).toEqual([
      expect.stringMatching(/says nothing about what is inside$/),
    ]);
  });
});

describe('comments', () => {
  it.each([
    'src/domain/a.ts',
    'src/console/a.tsx',
    'test/a.test.ts',
    'src/ledger/a.sql',
    'src/store/redis/a.lua',
  ])('%s opens with one', (path) => {
    const mark = /\.tsx?$/.test(path) ? '//' : '--';
    expect(houseRules(path, 'select 1;\n')).toEqual([
      'does not open with a comment on what it is for',
    ]);
    expect(houseRules(path, `${mark} What it is for.\nselect;\n`)).toEqual([]);
  });

  it('a shebang may stand before it', () => {
    expect(houseRules('src/cli/a.ts', '#!/usr/bin/env node\n// For.\n')).toEqual([]);
    expect(houseRules('src/cli/a.ts', '#!/usr/bin/env node\nf();\n')).toHaveLength(1);
  });

  it.each([
    'Of a slot.',
    'That it runs.',
    'As sent.',
    'The same, sorted.',
    'Who calls.',
    'How many.',
  ])('a doc comment names its subject: %s', (doc) => {
    for (const path of ['src/domain/a.ts', 'test/a.test.ts', 'bench/a.ts', 'scripts/a.ts']) {
      for (const text of [`/** ${doc} */\nf();`, `  /**\n   * ${doc}\n   */`]) {
        expect(complaintsAbout(path, `// For.\n${text}`)).toEqual([
          `a doc comment does not begin with its subject: ${text.includes('\n   *') ? doc : `${doc} */`}`,
        ]);
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

  it('none silences the compiler', () => {
    expect(complaintsAbout('src/domain/a.ts', `// @ts-${'nocheck'}\nf();`)).toHaveLength(1);
  });

  it('a line has at most 110 columns, unless it cannot be broken', () => {
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
