// Runs the house rules on this repository, and on small trees that break them one by one: a rule that never
// complained may be a rule that never looks.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates inside source text under test

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { importsOf, scanSource } from '../scripts/scan-source.ts';
import { tidy } from '../scripts/tidy.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

type Tree = Readonly<Record<string, string>>;

/** What the rules say of a tree with these files; texts without an opening comment get one. */
function complaintsAbout(tree: Tree): string[] {
  const root = mkdtempSync(join(tmpdir(), 'sluice-tidy-'));
  try {
    for (const [path, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      const opening = /^(?:\/|#!|--|raw:)/.test(text) ? '' : '// What it is for.\n';
      writeFileSync(join(root, path), opening + text.replace(/^raw:/, ''));
    }
    return tidy(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** The same for one file of src/, imported by main.ts' own means, without that complaint. */
function complaintsAboutFile(path: string, text: string): string[] {
  return complaintsAbout({ [path]: text }).filter((each) => !each.includes('imported by nothing'));
}

describe('this repository', () => {
  it('breaks none of the house rules', () => {
    expect(tidy(ROOT)).toEqual([]);
  });
});

describe('imports run one way', () => {
  const allowed: readonly (readonly [path: string, statement: string])[] = [
    ['src/domain/a.ts', "import { x } from '../contract/x.ts';"],
    ['src/domain/a.ts', "import { x } from './x.ts';"],
    ['src/ports/a.ts', "import type { x } from '../domain/x.ts';"],
    ['src/operations/a.ts', "import type { x } from '../observe/x.ts';"],
    ['src/operations/a.ts', "import { x } from '../ports/x.ts';"],
    ['src/engine/redis/a.ts', "import { x } from '../../ports/x.ts';"],
    ['src/engine/redis/a.ts', "import { Redis } from 'ioredis';"],
    ['src/ledger/query/a.ts', "import pg from 'pg';"],
    ['src/ledger/a.ts', "import { PGlite } from '@electric-sql/pglite';"],
    ['src/http/device/a.ts', "import type { x } from '../../ports/x.ts';"],
    ['src/http/a.ts', "import { Unavailable } from '../ports/unavailable.ts';"],
    ['src/http/a.ts', "import { App } from 'uWebSockets.js';"],
    ['src/background/a.ts', "import { x } from '../ports/x.ts';"],
    ['src/console/a.tsx', "import { x } from '../contract/x.ts';"],
    ['src/console/page/a.tsx', "import { useState } from 'preact/hooks';"],
    ['src/cli/a.ts', "import { x } from '../config.ts';"],
    ['src/cli/serve.ts', "import '../main.ts';"],
    ['src/cli/sluice.ts', "await import('../main.ts');"],
    ['src/compose/a.ts', "import { x } from '../engine/redis/x.ts';"],
    ['src/compose/a.ts', "import { x } from '../ledger/x.ts';"],
  ];
  it.each(allowed)('%s may say %s', (path, statement) => {
    expect(complaintsAboutFile(path, statement)).toEqual([]);
  });

  const refused: readonly (readonly [path: string, statement: string, complaint: string])[] = [
    ['src/contract/a.ts', "import '../domain/x.ts';", 'contract must not import src/domain/x.ts'],
    ['src/contract/a.ts', "import { z } from 'zod';", 'contract must not import zod'],
    ['src/domain/a.ts', "import '../ports/x.ts';", 'domain must not import src/ports/x.ts'],
    ['src/domain/a.ts', "import { x } from 'node:fs';", 'domain must not import node:fs'],
    [
      'src/domain/a.ts',
      "const a = 1; export { x } from '../http/x.ts';",
      'domain must not import src/http/x.ts',
    ],
    ['src/ports/a.ts', "import '../operations/x.ts';", 'ports must not import src/operations/x.ts'],
    ['src/operations/a.ts', "import '../http/x.ts';", 'operations must not import src/http/x.ts'],
    [
      'src/operations/a.ts',
      "import { x } from '../observe/x.ts';",
      'operations may take only types from src/observe/x.ts',
    ],
    [
      'src/operations/a.ts',
      "import { type x, y } from '../observe/x.ts';",
      'operations may take only types from src/observe/x.ts',
    ],
    [
      'src/http/a.ts',
      "import { x } from '../ports/engine.ts';",
      'http may take only types from src/ports/engine.ts',
    ],
    [
      'src/operations/a.ts',
      "await import('../ledger/x.ts');",
      'operations must not import src/ledger/x.ts',
    ],
    [
      'src/operations/a.ts',
      "type X = typeof import('../ledger/x.ts');",
      'operations must not import src/ledger/x.ts',
    ],
    [
      'src/engine/memory/a.ts',
      "import '../redis/x.ts';",
      'engine/memory must not import src/engine/redis/x.ts',
    ],
    [
      'src/engine/redis/a.ts',
      "import '../memory/x.ts';",
      'engine/redis must not import src/engine/memory/x.ts',
    ],
    [
      'src/engine/redis/a.ts',
      "import '../../ledger/x.ts';",
      'engine/redis must not import src/ledger/x.ts',
    ],
    [
      'src/ledger/a.ts',
      "import '../engine/redis/x.ts';",
      'ledger must not import src/engine/redis/x.ts',
    ],
    ['src/http/a.ts', "import '../ledger/x.ts';", 'http must not import src/ledger/x.ts'],
    ['src/http/a.ts', "import '../background/x.ts';", 'http must not import src/background/x.ts'],
    ['src/background/a.ts', "import '../http/x.ts';", 'background must not import src/http/x.ts'],
    ['src/cli/a.ts', "import '../operations/x.ts';", 'cli must not import src/operations/x.ts'],
    [
      'src/cli/sluice.ts',
      "import '../main.ts';",
      'only the serve command imports main.ts, or the import is a dynamic one',
    ],
    ['src/console/a.tsx', "import '../http/x.ts';", 'console must not import src/http/x.ts'],
    ['src/console/a.ts', "import '../domain/x.ts';", 'console must not import src/domain/x.ts'],
    ['src/console/a.tsx', "import { z } from 'zod';", 'console must not import zod'],
    ['src/console/a.ts', "import { x } from 'node:fs';", 'console must not import node:fs'],
    ['src/main.ts', "import './ledger/x.ts';", 'main.ts must not import src/ledger/x.ts'],
    ['src/compose/a.ts', "import '../main.ts';", 'compose must not import src/main.ts'],
    ['src/shed/a.ts', 'export const a = 1;', 'lies in no room that the import rules know'],
    ['src/engine/a.ts', 'export const a = 1;', 'lies in no room that the import rules know'],
  ];
  it.each(refused)('%s must not say %s', (path, statement, complaint) => {
    expect(complaintsAboutFile(path, statement)).toEqual([`${path}: ${complaint}`]);
  });

  it.each([
    ['uWebSockets.js', 'http', 'src/operations/a.ts'],
    ['ioredis', 'engine/redis', 'src/engine/memory/a.ts'],
    ['pg', 'ledger', 'src/operations/a.ts'],
    ['@electric-sql/pglite', 'ledger', 'src/compose/a.ts'],
    ['preact', 'console', 'src/http/a.ts'],
    ['uplot', 'console', 'src/operations/a.ts'],
    ['@electric-sql/pglite/worker', 'ledger', 'src/compose/a.ts'],
  ])('%s belongs to %s', (name, room, path) => {
    const owned = name.replace('/worker', '');
    expect(complaintsAboutFile(path, `import type { X } from '${name}';`)).toEqual([
      `${path}: only ${room} imports ${owned}`,
    ]);
  });

  it('a package whose name only begins like a guarded one is free', () => {
    expect(complaintsAboutFile('src/http/a.ts', "import x from 'pg-types';")).toEqual([]);
  });

  it('an import over several lines is seen; one inside a string, comment or pattern is none', () => {
    const hidden = [
      'const a = "import \'../http/x.ts\'";',
      "// import '../http/x.ts';",
      "/* import '../http/x.ts'; */",
      "const b = `import '../http/x.ts'; ${a} import '../http/y.ts'`;",
      "const c = /['\"]/; const d = 1 / 2; const e = '/';",
    ].join('\n');
    expect(complaintsAboutFile('src/domain/a.ts', hidden)).toEqual([]);
    const spread = `${hidden}\nimport {\n  x,\n  y,\n} from '../http/x.ts';`;
    expect(complaintsAboutFile('src/domain/a.ts', spread)).toEqual([
      'src/domain/a.ts: domain must not import src/http/x.ts',
    ]);
  });
});

describe('the environment and the end of the process have one owner each', () => {
  it.each(['process.env.PORT', 'process .env', 'process?.env', "process['env']", 'f(process.env)'])(
    '%s outside config.ts',
    (expression) => {
      const text = `export const a = ${expression};`;
      expect(complaintsAboutFile('src/http/a.ts', text)).toEqual([
        'src/http/a.ts: only config.ts reads process.env',
      ]);
      expect(complaintsAboutFile('src/config.ts', `${text}\nexport const config = 1;`)).toEqual([
        'src/config.ts: its first export, a, is not its namesake',
      ]);
    },
  );

  it('process.exit outside main.ts and cli/', () => {
    const text = 'process.exit(1);';
    expect(complaintsAboutFile('src/operations/a.ts', text)).toEqual([
      'src/operations/a.ts: only main.ts and cli/ end the process',
    ]);
    expect(complaintsAboutFile('src/cli/a.ts', text)).toEqual([]);
    expect(complaintsAboutFile('src/main.ts', text)).toEqual([]);
    expect(complaintsAboutFile('src/operations/a.ts', 'process.exitCode = 1;')).toEqual([]);
  });

  it('a way around through node:process', () => {
    const text = "import { env } from 'node:process';";
    expect(complaintsAboutFile('src/operations/a.ts', text)).toHaveLength(1);
  });

  it('tests, benches and scripts are free', () => {
    const text = 'if (process.env.CI) process.exit(1);';
    for (const path of ['test/a.test.ts', 'bench/a.ts', 'scripts/a.ts']) {
      expect(complaintsAbout({ [path]: text })).toEqual([]);
    }
  });
});

describe('names', () => {
  it.each([
    'src/domain/fooBar.ts',
    'src/domain/foo_bar.ts',
    'src/http/Shape/foo.ts',
    'test/aB.test.ts',
  ])('%s is not kebab-case', (path) => {
    expect(complaintsAboutFile(path, 'const a = 1;')).toEqual([
      expect.stringMatching(/is not kebab-case$/),
    ]);
  });

  it.each([
    'src/domain/utils.ts',
    'src/http/helpers/a.ts',
    'src/http/misc.ts',
    'test/string-utils.ts',
    'scripts/helper.ts',
  ])('%s says nothing about what is inside', (path) => {
    expect(complaintsAboutFile(path, 'const a = 1;')).toEqual([
      expect.stringMatching(/says nothing about what is inside$/),
    ]);
  });

  it.each([
    ['src/domain/cohort.ts', 'export const COHORT_BUCKETS = 1;'],
    ['src/domain/serving-snapshot.ts', 'export type ServingSnapshot = 1;'],
    ['src/domain/decide.ts', 'export type Decided = 1;\nexport function decide() {}'],
    ['src/ports/engine.ts', 'export type Announcement = 1;\nexport interface Engine {}'],
    ['src/engine/memory/memory-engine.ts', 'export class Engine {}'],
    ['src/operations/a.ts', 'const inner = 1;'],
  ])('%s is the namesake of what it exports first: %s', (path, text) => {
    expect(complaintsAboutFile(path, text)).toEqual([]);
  });

  it.each([
    ['src/domain/cohort.ts', 'export const BUCKETS = 1;\nexport const cohort = 2;'],
    ['src/domain/cohort.ts', 'export function bucket() {}'],
    ['src/domain/cohort.ts', 'export type Bucket = 1;'],
    ['src/domain/cohort.ts', 'export async function bucket() {}'],
  ])('%s is not the namesake of what it exports first: %s', (path, text) => {
    expect(complaintsAboutFile(path, text)).toEqual([
      expect.stringMatching(
        /^src\/domain\/cohort\.ts: its first export, \w+, is not its namesake$/,
      ),
    ]);
  });
});

describe('exports', () => {
  it.each(['export default 1;', 'const a = 1;\nexport { a as default };'])(
    'a default export: %s',
    (text) => {
      expect(complaintsAboutFile('src/domain/a.ts', text)).toEqual([
        'src/domain/a.ts: has a default export',
      ]);
    },
  );

  it('a file that only re-exports is a barrel, and so is every index.ts', () => {
    const text =
      "import { x } from './x.ts';\nexport * from './y.ts';\nexport { z } from './z.ts';";
    expect(complaintsAboutFile('src/domain/a.ts', text)).toEqual(['src/domain/a.ts: is a barrel']);
    expect(complaintsAboutFile('src/domain/index.ts', 'const a = 1;')).toEqual([
      'src/domain/index.ts: is a barrel',
    ]);
    const own = `${text}\nexport const a = 1;`;
    expect(complaintsAboutFile('src/domain/a.ts', own)).toEqual([]);
  });

  it('a file of src/ that no other file of src/ imports', () => {
    const dead = { 'src/domain/a.ts': 'export const a = 1;' };
    const complaint = ['src/domain/a.ts: is imported by nothing in src/'];
    expect(complaintsAbout(dead)).toEqual(complaint);
    const test = { 'test/a.test.ts': "import { a } from '../src/domain/a.ts';" };
    expect(complaintsAbout({ ...dead, ...test })).toEqual(complaint);
    const user = { 'src/subprocess.ts': "import type { a } from './compose/a.ts';" };
    const compose = { 'src/compose/a.ts': "import { a } from '../domain/a.ts';" };
    expect(complaintsAbout({ ...dead, ...user, ...compose })).toEqual([]);
  });
});

describe('texts', () => {
  it.each([
    'src/domain/a.ts',
    'src/console/a.tsx',
    'test/a.test.ts',
    'src/ledger/a.sql',
    'src/engine/redis/a.lua',
  ])('%s opens with a comment', (path) => {
    const mark = /\.tsx?$/.test(path) ? '//' : '--';
    expect(complaintsAboutFile(path, 'raw:select 1;\n')).toEqual([
      `${path}: does not open with a comment on what it is for`,
    ]);
    expect(complaintsAboutFile(path, `${mark} What it is for.\nselect;\n`)).toEqual([]);
  });

  it('a shebang may stand before it', () => {
    expect(complaintsAboutFile('src/cli/a.ts', '#!/usr/bin/env node\n// For.\n')).toEqual([]);
    expect(complaintsAboutFile('src/cli/a.ts', '#!/usr/bin/env node\nf();\n')).toHaveLength(1);
  });

  it('a file has at most 400 lines; a test may have more', () => {
    const text = `// For.\n${'f();\n'.repeat(399)}`;
    expect(complaintsAboutFile('src/domain/a.ts', text)).toEqual([]);
    expect(complaintsAboutFile('src/domain/a.ts', `${text}f();\n`)).toEqual([
      'src/domain/a.ts: has 401 lines (at most 400)',
    ]);
    expect(complaintsAboutFile('test/a.test.ts', `${text}f();\n`)).toEqual([]);
  });

  it('a line has at most 110 columns, unless it cannot be broken', () => {
    const line = `const a = ${'1 + '.repeat(24)}11;`;
    expect(complaintsAboutFile('src/domain/a.ts', `// For.\n${line}`)).toEqual([]);
    expect(complaintsAboutFile('src/domain/a.ts', `// For.\n${line}//2`)).toEqual([
      'src/domain/a.ts: line 2 has 112 columns (at most 110)',
    ]);
    expect(complaintsAboutFile('src/domain/a.ts', `'${'x'.repeat(150)}',`)).toEqual([]);
  });

  it.each([
    ['export function a(b: number): void {', '}'],
    ['export async function a({', '}'],
    ['export const a = (b: number): void => {', '};'],
    ['class A {\n  private async go(b: number): Promise<void> {', '  }\n}'],
  ])('a function has at most 70 lines: %s', (start, end) => {
    const body = (lines: number) =>
      `${start}\n${start.endsWith('({') ? '  b,\n}: B) {\n' : ''}${'    f();\n'.repeat(lines)}${end}`;
    const extra = start.endsWith('({') ? 2 : 0;
    expect(complaintsAboutFile('src/domain/a.ts', body(68 - extra))).toEqual([]);
    expect(complaintsAboutFile('src/domain/a.ts', body(69 - extra))).toEqual([
      expect.stringMatching(/begins a function of 71 lines \(at most 70\)$/),
    ]);
  });

  it.each(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'])('%s in a comment was left behind', (mark) => {
    expect(complaintsAboutFile('src/domain/a.ts', `f(); // ${mark}: later`)).toHaveLength(1);
    expect(complaintsAboutFile('src/ledger/a.sql', `-- ${mark}\nselect 1;`)).toHaveLength(1);
    expect(complaintsAboutFile('src/domain/a.ts', `f('${mark}');`)).toEqual([]);
  });

  it.each([
    'const a: any = 1;',
    'f(a as any);',
    'const a: Record<string, any> = {};',
    'type A = string | any;',
    '// @ts-' + 'ignore\nf();',
    '/* @ts-' + 'nocheck */',
  ])('the compiler is not silenced: %s', (text) => {
    expect(complaintsAboutFile('src/domain/a.ts', `// For.\n${text}`)).toHaveLength(1);
  });

  it('the word any is free everywhere else', () => {
    const text = "// as any of them: any\nf('x as any'); const any = 1; g({ any: 1 }, company);";
    expect(complaintsAboutFile('src/domain/a.ts', text)).toEqual([]);
  });
});

describe('tests that do not run', () => {
  const skipped = ['it', 'describe'].map((name) => `${name}.skip`);

  it.each(skipped)('%s needs a reason beside it, or in its title', (call) => {
    expect(complaintsAbout({ 'test/a.test.ts': `f();\n${call}('a rule', f);` })).toEqual([
      'test/a.test.ts: line 3: .skip without a reason',
    ]);
    const commented = `f();\n// The kernel has no such call.\n${call}('a rule', f);`;
    expect(complaintsAbout({ 'test/a.test.ts': commented })).toEqual([]);
    const titled = `f();\n${call}('a rule (no Redis here)', f);`;
    expect(complaintsAbout({ 'test/a.test.ts': titled })).toEqual([]);
  });

  it('.only is never left in', () => {
    const text = `f();\n// Because.\n${'it'}.only('a rule (reason)', f);`;
    expect(complaintsAbout({ 'test/a.test.ts': text })).toEqual([
      'test/a.test.ts: line 4: .only without a reason',
    ]);
  });
});

describe('the scanner', () => {
  it('keeps every offset: code and comments are as long as the text, line by line', () => {
    const text = "const a = `x ${f({ b: `y ${'}'}` })} z`; // c ' \"\n/* d\n` */ e = /[/'`]/g;\n";
    const { code, comments } = scanSource(text);
    expect(code).toHaveLength(text.length);
    expect(comments).toHaveLength(text.length);
    expect(code.replace(/ +/g, ' ')).toBe(
      "const a = ` ${f({ b: ` ${' '}` })} `; \n \n e = / /g;\n",
    );
    expect(comments.replace(/ +/g, ' ').trim()).toBe('// c \' "\n/* d\n` */');
  });

  it('takes the end of an element for no pattern, so that what follows it is still read', () => {
    const text = "const a = <b c={d} /><p>{e}</p></b>;\nimport { f } from 'f';";
    expect(scanSource(text).code).toContain('</b>;');
    expect(importsOf(text, scanSource(text)).map(({ from }) => from)).toEqual(['f']);
  });

  it('ends at the end of a text that stops in the middle', () => {
    for (const text of ["'a", '`a', '`a${', '/* a', '// a', 'f(/a', "'\\", '`${`${', '}']) {
      expect(scanSource(text).code).toHaveLength(text.length);
    }
  });

  it('tells types, re-exports and dynamic imports apart', () => {
    const text = [
      "import type { A } from 'a';",
      "import { type B, type C } from 'b';",
      "import c, { type D } from 'c';",
      "import 'd';",
      "export type { E } from 'e';",
      "export * as f from 'f';",
      "const g = await import('g');",
    ].join('\n');
    const found = importsOf(text, scanSource(text)).map((each) =>
      [each.from, each.isType, each.isReexport, each.isDynamic].join(' '),
    );
    expect(found).toEqual([
      'a true false false',
      'b true false false',
      'c false false false',
      'd false false false',
      'e true true false',
      'f false true false',
      'g false false true',
    ]);
  });
});
