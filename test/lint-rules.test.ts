// Runs Biome, with this repository's rules, on a small tree that breaks them one by one: a rule without an
// example of its breach may never look. One run for all examples.

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const CONFIGURATION = ['biome.jsonc', 'src/biome.jsonc', 'src/imports.grit', '.gitignore'];
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const BYTES_MAX = 16 * 1024 * 1024;

type Finding = { readonly category: string; readonly message: string; readonly path: string };

/** Text of each example, by its path in the tree. */
const examples = new Map<string, string>();
let findings: readonly Finding[] = [];

/** Puts an example into the tree, in a file of its own where `path` has a `*`, and returns its path. */
function example(path: string, text: string): string {
  const own = path.replace('*', `example-${examples.size}`);
  if (examples.has(own)) throw new Error(`two examples in ${own}`);
  examples.set(own, text);
  return own;
}

/** Shortens an example to a title. */
function titleOf(text: string): string {
  return text.replaceAll('\n', ' ').slice(0, 80);
}

/** Returns Biome's complaints about an example: the name of the rule and its message. */
function complaintsAbout(path: string): string[] {
  return findings
    .filter((finding) => finding.path === path)
    .map(({ category, message }) => `${category.split('/').at(-1)}: ${message}`);
}

const allowed: readonly (readonly [path: string, statement: string])[] = [
  ['src/domain/release/*.ts', "import '../../contract/x.ts';"],
  ['src/domain/release/*.ts', "import './x.ts';"],
  ['src/http/api/*.ts', "import '../../contract/answer-shape.ts';"],
  ['src/domain/fleet/*.ts', "import '../decision/x.ts';"],
  ['src/domain/decision/*.ts', "import './rule/x.ts';"],
  ['src/domain/decision/rule/*.ts', "import '../x.ts';"],
  ['src/updater/*.ts', "import 'js-yaml';"],
  ['src/words/*.ts', "import '../domain/decision/x.ts';"],
  ['src/cli/print/*.ts', "import '../../words/x.ts';"],
  ['src/notify/*.ts', "import '../words/x.ts';"],
  ['src/flow/*.ts', "import 'node:timers/promises';"],
  ['src/process/*.ts', "import 'node:child_process';"],
  ['src/settings/*.ts', "import '../contract/x.ts';\nexport const a = process.env;"],
  ['src/observe/*.ts', "import type { X } from '../settings/x.ts';\nexport type A = X;"],
  ['src/store/*.ts', "export type { X } from '../domain/release/x.ts';"],
  ['src/store/redis/*.ts', "import '../x.ts';"],
  ['src/store/redis/*.ts', "import 'ioredis';"],
  ['src/store/ledger/*.ts', "import 'pg';"],
  ['src/store/ledger/*.ts', "import '@electric-sql/pglite';"],
  ['src/access/*.ts', "import '@node-rs/argon2';"],
  ['src/fleet/*.ts', "import type { X } from '../observe/x.ts';\nexport type A = X;"],
  ['src/fleet/*.ts', "import '../store/x.ts';"],
  ['src/serving/*.ts', "import '../fleet/x.ts';"],
  ['src/serving/*.ts', "import '../domain/decision/rule/x.ts';"],
  ['src/serving/*.ts', "import '../store/snapshot/x.ts';"],
  ['src/notify/*.ts', "import 'nodemailer';"],
  ['src/publishing/*.ts', "import '../notify/x.ts';"],
  ['src/edge/*.ts', "import '../store/disk/x.ts';"],
  ['src/edge/*.ts', "import 'node:http';"],
  ['src/edge/server/*.ts', "import '../../serving/x.ts';"],
  ['src/http/device/*.ts', "import type { X } from '../../store/x.ts';\nexport type A = X;"],
  ['src/http/endpoint/*.ts', "import '../transport/x.ts';"],
  ['src/http/transport/uws-app.ts', "import 'uWebSockets.js';"],
  ['src/http/transport/*.ts', "import 'node:timers/promises';"],
  ['src/http/api/*.ts', "import '../../edge/server/x.ts';"],
  ['src/console/*.tsx', "import '../contract/x.ts';"],
  ['src/console/format/*.ts', "import '../../domain/decision/x.ts';"],
  ['src/console/home/*.tsx', "import 'preact/hooks';"],
  ['src/console/part/*.tsx', "import 'uplot/dist/uPlot.min.css';"],
  ['src/node/assemble/*.ts', "import '../../store/redis/x.ts';"],
  ['src/node/processes/*.ts', "import '../../edge/x.ts';"],
  ['src/cli/*.ts', "import '../settings/x.ts';"],
  ['src/cli/*.ts', 'process.exit(1);'],
  ['src/fleet/*.ts', 'process.exitCode = 1;'],
  ['test/*.test.ts', 'if (process.env.CI) process.exit(1);'],
  ['bench/*.ts', 'if (process.env.CI) process.exit(1);'],
  // Neither a string nor a comment is an import.
  ['src/domain/release/*.ts', "// import '../http/x.ts';\nf(\"import '../http/x.ts'\");"],
];

const IMPORT = 'noRestrictedImports: ';
const refused: readonly (readonly [path: string, statement: string, complaint: string])[] = [
  ['src/contract/*.ts', "import '../domain/release/x.ts';", `${IMPORT}contract`],
  ['src/contract/*.ts', "import 'zod';", `${IMPORT}contract`],
  ['src/contract/answer-shape.ts', "import './limit.ts';", `${IMPORT}contract/answer-shape.ts`],
  ['src/domain/release/*.ts', "import '../../store/x.ts';", `${IMPORT}domain/release`],
  ['src/domain/release/*.ts', "import '../fleet/x.ts';", `${IMPORT}domain/release`],
  ['src/domain/decision/*.ts', "import '../fleet/x.ts';", `${IMPORT}domain/decision`],
  ['src/domain/decision/*.ts', "import 'node:fs';", `${IMPORT}domain/decision`],
  ['src/domain/decision/rule/*.ts', "import '../../fleet/x.ts';", `${IMPORT}A decision rule`],
  ['src/domain/fleet/*.ts', "import 'lru-cache';", `${IMPORT}domain/fleet`],
  // There is no detour through a folder that may be imported, or through the room itself.
  ['src/domain/fleet/*.ts', "import '../decision/../../store/x.ts';", `${IMPORT}domain/fleet`],
  ['src/domain/fleet/*.ts', "import './../../store/x.ts';", `${IMPORT}domain/fleet`],
  ['src/updater/*.ts', "import '../fleet/x.ts';", `${IMPORT}updater`],
  ['src/updater/*.ts', "import 'node:crypto';", `${IMPORT}updater`],
  ['src/words/*.ts', "import '../console/format/x.ts';", `${IMPORT}words`],
  ['src/words/*.ts', "import '../flow/x.ts';", `${IMPORT}words`],
  ['src/flow/*.ts', "import '../observe/x.ts';", `${IMPORT}flow`],
  ['src/settings/*.ts', "import '../node/x.ts';", `${IMPORT}settings`],
  ['src/process/*.ts', "import '../store/ledger/x.ts';", `${IMPORT}process`],
  ['src/store/*.ts', "import './redis/x.ts';", `${IMPORT}The interfaces of store`],
  ['src/store/memory/*.ts', "import '../redis/x.ts';", `${IMPORT}store/memory`],
  ['src/store/memory/*.ts', "import 'ioredis';", `${IMPORT}store/memory`],
  ['src/store/redis/*.ts', "import '../memory/x.ts';", `${IMPORT}store/redis`],
  ['src/store/redis/*.ts', "import '../ledger/x.ts';", `${IMPORT}store/redis`],
  ['src/store/disk/*.ts', "import '../observe/x.ts';", `${IMPORT}store/disk`],
  ['src/store/ledger/*.ts', "import '../redis/x.ts';", `${IMPORT}store/ledger`],
  ['src/store/ledger/change/*.ts', "import '../release/x.ts';", `${IMPORT}store/ledger/change`],
  ['src/store/ledger/fleet/*.ts', "import '../people/x.ts';", `${IMPORT}fleet and people`],
  ['src/access/*.ts', "import '../fleet/x.ts';", `${IMPORT}access`],
  ['src/fleet/*.ts', "import '../serving/x.ts';", `${IMPORT}fleet`],
  ['src/fleet/*.ts', "import '../store/ledger/x.ts';", `${IMPORT}fleet`],
  ['src/fleet/*.ts', "import 'pg';", `${IMPORT}fleet`],
  ['src/fleet/*.ts', "import 'ioredis';", `${IMPORT}fleet`],
  ['src/fleet/*.ts', "import 'uWebSockets.js';", `${IMPORT}fleet`],
  ['src/http/transport/*.ts', "import 'uWebSockets.js';", `${IMPORT}http`],
  [
    'src/http/device/*.ts',
    "import type { HttpRequest } from 'uWebSockets.js';\nexport type A = HttpRequest;",
    `${IMPORT}http`,
  ],
  ['src/serving/*.ts', "import '../publishing/x.ts';", `${IMPORT}serving`],
  ['src/publishing/*.ts', "import '../http/x.ts';", `${IMPORT}publishing`],
  ['src/notify/*.ts', "import '../publishing/x.ts';", `${IMPORT}notify`],
  ['src/edge/*.ts', "import '../fleet/x.ts';", `${IMPORT}edge`],
  ['src/edge/*.ts', "import './server/x.ts';", `${IMPORT}edge`],
  ['src/edge/server/*.ts', "import '../x.ts';", `${IMPORT}edge/server`],
  ['src/http/api/*.ts', "import '../../edge/x.ts';", `${IMPORT}http`],
  [
    'src/http/api/*.ts',
    "import type { X } from '../../store/ledger/x.ts';\nexport type A = X;",
    `${IMPORT}http`,
  ],
  ['src/http/api/*.ts', "import 'preact';", `${IMPORT}http`],
  ['src/http/device/*.ts', "import '../../node/x.ts';", `${IMPORT}http`],
  ['src/observe/*.ts', "import '../fleet/x.ts';", `${IMPORT}observe`],
  ['src/console/*.tsx', "import '../http/x.ts';", `${IMPORT}console`],
  ['src/console/home/*.tsx', "import '../../store/x.ts';", `${IMPORT}console`],
  ['src/console/home/*.tsx', "import 'zod';", `${IMPORT}console`],
  ['src/console/hook/*.ts', "import 'node:fs';", `${IMPORT}console`],
  ['src/cli/*.ts', "import '../fleet/x.ts';", `${IMPORT}cli`],
  ['src/cli/*.ts', "import '../main.ts';", `${IMPORT}cli`],
  ['src/node/processes/*.ts', "import '../../main.ts';", `${IMPORT}node`],
  ['src/node/assemble/*.ts', "import '@electric-sql/pglite/worker';", `${IMPORT}node`],
  ['src/main.ts', "import './store/ledger/x.ts';", `${IMPORT}main.ts`],
  ['src/shed/*.ts', "import '../contract/x.ts';", `${IMPORT}This folder has no import rule`],
  ['src/store/shed/*.ts', "import '../contract/x.ts';", `${IMPORT}This folder has no import rule`],
  ['src/shed.ts', "import './contract/x.ts';", `${IMPORT}This folder has no import rule`],
  // Every form of an import.
  ['src/flow/*.ts', "import type { X } from '../http/x.ts';\nexport type A = X;", `${IMPORT}flow`],
  ['src/flow/*.ts', "export type { X } from '../http/x.ts';", `${IMPORT}flow`],
  ['src/flow/*.ts', "await import('../http/x.ts');", `${IMPORT}flow`],
  ['src/flow/*.ts', "import {\n  x,\n  y,\n} from '../http/x.ts';\nx(y);", `${IMPORT}flow`],
  ['src/flow/*.ts', "export type A = typeof import('../http/x.ts');", 'plugin: Import the type by'],
  ['src/flow/*.ts', "export type A = import('../http/x.ts').X;", 'plugin: Import the type by'],
  // Types only.
  ['src/console/*.ts', "import '../contract/answer-shape.ts';", 'plugin: This room'],
  ['src/fleet/*.ts', "import { x } from '../observe/x.ts';\nx();", 'plugin: This room'],
  [
    'src/fleet/*.ts',
    "import { type X, y } from '../observe/x.ts';\nexport const a: X = y;",
    'plugin: This room may take only types from there.',
  ],
  [
    'src/observe/*.ts',
    "import { x } from '../settings/x.ts';\nx();",
    'plugin: This room may take only',
  ],
  [
    'src/http/api/*.ts',
    "import { x } from '../../store/engine.ts';\nx();",
    'plugin: This room may take',
  ],
  [
    'src/store/ledger.ts',
    "import { x } from './ledger/sql-ledger.ts';\nx();",
    'plugin: This room may take only',
  ],
  // The environment and the end of the process.
  ['src/http/transport/*.ts', 'f(process.env.PORT);', 'noProcessEnv: '],
  ['src/http/transport/*.ts', 'f(process?.env);', 'noProcessEnv: '],
  [
    'src/http/transport/*.ts',
    "// biome-ignore lint/complexity/useLiteralKeys: an example.\nf(process['env']);",
    'noProcessEnv: ',
  ],
  ['src/http/transport/*.ts', "import { env } from 'node:process';\nf(env);", `${IMPORT}http`],
  ['src/fleet/*.ts', 'process.exit(1);', 'noJsRestrictedProperties: '],
  ['src/fleet/*.ts', 'process.abort();', 'noJsRestrictedProperties: '],
  // Names, exports, sizes, types and tests.
  ['src/flow/fooBar.ts', 'f();', 'useFilenamingConvention: '],
  ['test/foo_bar.test.ts', 'f();', 'useFilenamingConvention: '],
  ['src/flow/*.ts', 'export default 1;', 'noDefaultExport: '],
  ['src/flow/*.ts', 'const a = 1;\nexport { a as default };', 'noDefaultExport: '],
  ['src/flow/*.ts', "export { x } from './x.ts';", 'noBarrelFile: '],
  ['src/flow/*.ts', "export * from './x.ts';", 'noBarrelFile: '],
  ['src/flow/*.ts', 'f();\n'.repeat(501), 'noExcessiveLinesPerFile: '],
  [
    'src/flow/*.ts',
    `export function a(): void {\n${'f();\n'.repeat(71)}}`,
    'noExcessiveLinesPerFunction: ',
  ],
  ['src/flow/*.ts', 'export const a: any = 1;', 'noExplicitAny: '],
  ['src/flow/*.ts', `// @ts-${'ignore'}\nf();`, 'noTsIgnore: '],
  ['test/*.test.ts', `${'it'}.skip('a rule', () => f());`, 'noSkippedTests: '],
  ['test/*.test.ts', `${'describe'}.skip('a rule', () => f());`, 'noSkippedTests: '],
  ['test/*.test.ts', `${'it'}.only('a rule', () => f());`, 'noFocusedTests: '],
];

const good = allowed.map(([path, text]) => [example(path, text), titleOf(text)] as const);
const bad = refused.map(
  ([path, text, complaint]) => [example(path, text), titleOf(text), complaint] as const,
);
const circle = [
  example('src/store/first.ts', "import type { B } from './second.ts';\nexport type A = B;"),
  example('src/store/second.ts', "import type { A } from './first.ts';\nexport type B = A;"),
];
const long = example('test/*.test.ts', `describe('all', () => {\n${'f();\n'.repeat(501)}});`);

beforeAll(async () => {
  const tree = mkdtempSync(join(tmpdir(), 'sluice-lint-'));
  try {
    for (const path of [...CONFIGURATION, ...examples.keys()]) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
    }
    for (const path of CONFIGURATION) copyFileSync(join(ROOT, path), join(tree, path));
    for (const [path, text] of examples) writeFileSync(join(tree, path), `${text}\n`);
    findings = await lint(tree);
  } finally {
    rmSync(tree, { recursive: true });
  }
});

function lint(tree: string): Promise<readonly Finding[]> {
  const args = [BIOME, 'lint', '--reporter=json', '--max-diagnostics=none', '.'];
  return new Promise((resolve, reject) => {
    // The exit code is 1 by design: the tree breaks the rules.
    execFile(process.execPath, args, { cwd: tree, maxBuffer: BYTES_MAX }, (_, out, err) => {
      try {
        resolve(findingsOf(out));
      } catch (cause) {
        reject(new Error(err, { cause }));
      }
    });
  });
}

function findingsOf(report: string): Finding[] {
  const { diagnostics } = JSON.parse(report) as {
    diagnostics: readonly { category: string; message: string; location: { path: string } }[];
  };
  return diagnostics.map(({ category, message, location }) => ({
    category,
    message,
    path: location.path,
  }));
}

describe('what the rules allow', () => {
  it.each(good)('%s: %s', (path) => {
    expect(complaintsAbout(path)).toEqual([]);
  });

  it('a test longer than a file or a function may be', () => {
    expect(complaintsAbout(long)).toEqual([]);
  });
});

describe('what the rules refuse', () => {
  it.each(bad)('%s: %s', (path, _, complaint) => {
    expect(complaintsAbout(path)).toEqual([expect.stringContaining(complaint)]);
  });

  it('a circle of imports, also one that types alone close', () => {
    expect(circle.map(complaintsAbout)).toEqual([
      [expect.stringContaining('noImportCycles: ')],
      [expect.stringContaining('noImportCycles: ')],
    ]);
  });
});
