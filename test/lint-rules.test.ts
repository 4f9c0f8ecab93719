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
  ['src/domain/fleet/*.ts', "import '../decision/x.ts';"],
  ['src/domain/decision/*.ts', "import './rule/x.ts';"],
  ['src/domain/decision/rule/*.ts', "import '../x.ts';"],
  ['src/ports/*.ts', "export type { X } from '../domain/release/x.ts';"],
  ['src/updater/*.ts', "import 'js-yaml';"],
  ['src/flow/*.ts', "import 'node:timers/promises';"],
  ['src/operations/fleet/*.ts', "import type { X } from '../../observe/x.ts';\nexport type A = X;"],
  ['src/operations/fleet/*.ts', "import '../../ports/x.ts';"],
  ['src/operations/serving/*.ts', "import '../fleet/x.ts';"],
  ['src/operations/serving/*.ts', "import '../../domain/decision/rule/x.ts';"],
  ['src/engine/redis/*.ts', "import '../../ports/x.ts';"],
  ['src/engine/redis/*.ts', "import 'ioredis';"],
  ['src/ledger/*.ts', "import 'pg';"],
  ['src/ledger/*.ts', "import '@electric-sql/pglite';"],
  ['src/ledger/query/*.ts', "import '../x.ts';"],
  ['src/password/*.ts', "import '@node-rs/argon2';"],
  ['src/directory-lock/*.ts', "import 'node:fs';"],
  ['src/http/device/*.ts', "import type { X } from '../../ports/x.ts';\nexport type A = X;"],
  ['src/http/*.ts', "import '../ports/unavailable.ts';"],
  ['src/http/*.ts', "import 'uWebSockets.js';"],
  ['src/http/*.ts', "import 'node:timers/promises';"],
  ['src/background/*.ts', "import '../ports/x.ts';"],
  ['src/observe/*.ts', "import type { X } from '../config.ts';\nexport type A = X;"],
  ['src/console/*.tsx', "import '../contract/x.ts';"],
  ['src/console/format/*.ts', "import '../../domain/decision/x.ts';"],
  ['src/console/page/*.tsx', "import 'preact/hooks';"],
  ['src/console/part/*.tsx', "import 'uplot/dist/uPlot.min.css';"],
  ['src/cli/*.ts', "import '../config.ts';"],
  ['src/child-process/*.ts', "import 'node:child_process';"],
  ['src/processes/*.ts', "import '../child-process/x.ts';"],
  ['src/compose/*.ts', "import '../engine/redis/x.ts';"],
  ['src/compose/*.ts', "import '../ledger/x.ts';"],
  ['src/compose/*.ts', "import '../upstream/x.ts';"],
  ['src/upstream/*.ts', "import '../snapshot/x.ts';"],
  ['src/upstream/*.ts', "import 'node:http';"],
  ['src/operations/serving/*.ts', "import '../../snapshot/x.ts';"],
  ['src/http/edge/*.ts', "import '../../packing/x.ts';"],
  ['src/edge.ts', "import './compose/x.ts';"],
  ['src/config.ts', "import './contract/x.ts';\nexport const a = process.env;"],
  ['src/cli/*.ts', 'process.exit(1);'],
  ['src/operations/fleet/*.ts', 'process.exitCode = 1;'],
  ['test/*.test.ts', 'if (process.env.CI) process.exit(1);'],
  ['bench/*.ts', 'if (process.env.CI) process.exit(1);'],
  // Neither a string nor a comment is an import.
  ['src/domain/release/*.ts', "// import '../http/x.ts';\nf(\"import '../http/x.ts'\");"],
];

const IMPORT = 'noRestrictedImports: ';
const refused: readonly (readonly [path: string, statement: string, complaint: string])[] = [
  ['src/contract/*.ts', "import '../domain/release/x.ts';", `${IMPORT}contract and`],
  ['src/contract/*.ts', "import 'zod';", `${IMPORT}contract and`],
  ['src/hashing/*.ts', "import '../contract/x.ts';", `${IMPORT}contract and hashing`],
  ['src/device-limit/*.ts', "import '../domain/fleet/x.ts';", `${IMPORT}device-limit`],
  ['src/device-limit/*.ts', "import 'node:crypto';", `${IMPORT}device-limit`],
  ['src/domain/release/*.ts', "import '../../ports/x.ts';", `${IMPORT}domain/release`],
  ['src/domain/release/*.ts', "import '../fleet/x.ts';", `${IMPORT}domain/release`],
  ['src/domain/decision/*.ts', "import '../fleet/x.ts';", `${IMPORT}domain/decision`],
  ['src/domain/decision/*.ts', "import 'node:fs';", `${IMPORT}domain/decision`],
  ['src/domain/decision/rule/*.ts', "import '../../fleet/x.ts';", `${IMPORT}A decision rule`],
  ['src/domain/fleet/*.ts', "import 'lru-cache';", `${IMPORT}domain/fleet`],
  // There is no detour through a folder that may be imported, or through the room itself.
  ['src/domain/fleet/*.ts', "import '../decision/../../ports/x.ts';", `${IMPORT}domain/fleet`],
  ['src/domain/fleet/*.ts', "import './../../ports/x.ts';", `${IMPORT}domain/fleet`],
  ['src/packing/*.ts', "import '../ports/x.ts';", `${IMPORT}packing`],
  ['src/updater/*.ts', "import '../operations/fleet/x.ts';", `${IMPORT}updater`],
  ['src/updater/*.ts', "import 'node:crypto';", `${IMPORT}updater`],
  ['src/ports/*.ts', "import '../operations/fleet/x.ts';", `${IMPORT}ports`],
  ['src/flow/*.ts', "import '../observe/x.ts';", `${IMPORT}flow`],
  ['src/operations/access/*.ts', "import '../fleet/x.ts';", `${IMPORT}operations/access`],
  ['src/operations/fleet/*.ts', "import '../serving/x.ts';", `${IMPORT}operations/fleet`],
  ['src/operations/serving/*.ts', "import '../publishing/x.ts';", `${IMPORT}operations/serving`],
  ['src/operations/publishing/*.ts', "import '../../http/x.ts';", `${IMPORT}operations/publish`],
  ['src/operations/fleet/*.ts', "import '../../ledger/x.ts';", `${IMPORT}operations/fleet`],
  ['src/operations/fleet/*.ts', "import 'pg';", `${IMPORT}operations/fleet`],
  ['src/operations/fleet/*.ts', "import 'ioredis';", `${IMPORT}operations/fleet`],
  ['src/operations/fleet/*.ts', "import 'uWebSockets.js';", `${IMPORT}operations/fleet`],
  ['src/engine/memory/*.ts', "import '../redis/x.ts';", `${IMPORT}engine/memory`],
  ['src/engine/memory/*.ts', "import 'ioredis';", `${IMPORT}engine/memory`],
  ['src/engine/redis/*.ts', "import '../memory/x.ts';", `${IMPORT}engine/redis`],
  ['src/engine/redis/*.ts', "import '../../ledger/x.ts';", `${IMPORT}engine/redis`],
  ['src/engine/disk/*.ts', "import '../../observe/x.ts';", `${IMPORT}engine/disk`],
  ['src/password/*.ts', "import '../contract/x.ts';", `${IMPORT}password`],
  ['src/directory-lock/*.ts', "import '../ports/x.ts';", `${IMPORT}directory-lock`],
  ['src/upstream/*.ts', "import '../operations/fleet/x.ts';", `${IMPORT}upstream`],
  ['src/upstream/*.ts', "import '../engine/disk/x.ts';", `${IMPORT}upstream`],
  ['src/http/edge/*.ts', "import '../../upstream/x.ts';", `${IMPORT}http`],
  ['src/ledger/*.ts', "import '../engine/redis/x.ts';", `${IMPORT}ledger`],
  ['src/ledger/query/*.ts', "import 'pg';", `${IMPORT}A query`],
  ['src/http/*.ts', "import '../ledger/x.ts';", `${IMPORT}http`],
  ['src/http/*.ts', "import 'preact';", `${IMPORT}http`],
  ['src/http/device/*.ts', "import '../../background/x.ts';", `${IMPORT}http`],
  ['src/background/*.ts', "import '../http/x.ts';", `${IMPORT}background`],
  ['src/observe/*.ts', "import '../operations/fleet/x.ts';", `${IMPORT}observe`],
  ['src/console/*.tsx', "import '../http/x.ts';", `${IMPORT}console`],
  ['src/console/page/*.tsx', "import '../../ports/x.ts';", `${IMPORT}console`],
  ['src/console/page/*.tsx', "import 'zod';", `${IMPORT}console`],
  ['src/console/hook/*.ts', "import 'node:fs';", `${IMPORT}console`],
  ['src/cli/*.ts', "import '../operations/fleet/x.ts';", `${IMPORT}cli`],
  ['src/cli/*.ts', "import '../main.ts';", `${IMPORT}cli`],
  ['src/child-process/*.ts', "import '../ledger/x.ts';", `${IMPORT}child-process`],
  ['src/processes/*.ts', "import '../compose/x.ts';", `${IMPORT}processes`],
  ['src/compose/*.ts', "import '../main.ts';", `${IMPORT}compose`],
  ['src/compose/*.ts', "import '../processes/x.ts';", `${IMPORT}compose`],
  ['src/compose/*.ts', "import '@electric-sql/pglite/worker';", `${IMPORT}compose`],
  ['src/token-file.ts', "import './config.ts';", `${IMPORT}token-file.ts`],
  ['src/near-settings.ts', "import './config.ts';", `${IMPORT}near-settings.ts`],
  ['src/is-database-address.ts', "import './config.ts';", `${IMPORT}is-database-address.ts`],
  ['src/supervisor.ts', "import './compose/x.ts';", `${IMPORT}supervisor.ts`],
  ['src/start-service.ts', "import './ledger/x.ts';", `${IMPORT}start-service.ts`],
  ['src/subprocess.ts', "import './operations/fleet/x.ts';", `${IMPORT}subprocess.ts`],
  ['src/main.ts', "import './ledger/x.ts';", `${IMPORT}main.ts`],
  ['src/edge-config.ts', "import './edge.ts';", `${IMPORT}edge-config.ts`],
  ['src/setting-shape.ts', "import './config.ts';", `${IMPORT}setting-shape.ts`],
  ['src/run-until-signal.ts', "import './main.ts';", `${IMPORT}run-until-signal.ts`],
  ['src/stop-on-signal.ts', "import './main.ts';", `${IMPORT}stop-on-signal.ts`],
  ['src/tell-near-settings.ts', "import './main.ts';", `${IMPORT}stop-on-signal.ts`],
  ['src/shed/*.ts', "import '../contract/x.ts';", `${IMPORT}This folder has no import rule`],
  ['src/engine/*.ts', "import '../contract/x.ts';", `${IMPORT}This folder has no import rule`],
  ['src/shed.ts', "import './contract/x.ts';", `${IMPORT}This folder has no import rule`],
  // Every form of an import.
  ['src/flow/*.ts', "import type { X } from '../http/x.ts';\nexport type A = X;", `${IMPORT}flow`],
  ['src/flow/*.ts', "export type { X } from '../http/x.ts';", `${IMPORT}flow`],
  ['src/flow/*.ts', "await import('../http/x.ts');", `${IMPORT}flow`],
  ['src/flow/*.ts', "import {\n  x,\n  y,\n} from '../http/x.ts';\nx(y);", `${IMPORT}flow`],
  ['src/flow/*.ts', "export type A = typeof import('../http/x.ts');", 'plugin: Import the type by'],
  ['src/flow/*.ts', "export type A = import('../http/x.ts').X;", 'plugin: Import the type by'],
  // Types only.
  [
    'src/operations/fleet/*.ts',
    "import { x } from '../../observe/x.ts';\nx();",
    'plugin: This room',
  ],
  [
    'src/operations/fleet/*.ts',
    "import { type X, y } from '../../observe/x.ts';\nexport const a: X = y;",
    'plugin: This room may take only types from there.',
  ],
  [
    'src/observe/*.ts',
    "import { x } from '../config.ts';\nx();",
    'plugin: This room may take only',
  ],
  ['src/http/*.ts', "import { x } from '../ports/engine.ts';\nx();", 'plugin: This room may take'],
  // The environment and the end of the process.
  ['src/http/*.ts', 'f(process.env.PORT);', 'noProcessEnv: '],
  ['src/http/*.ts', 'f(process?.env);', 'noProcessEnv: '],
  [
    'src/http/*.ts',
    "// biome-ignore lint/complexity/useLiteralKeys: an example.\nf(process['env']);",
    'noProcessEnv: ',
  ],
  ['src/http/*.ts', "import { env } from 'node:process';\nf(env);", `${IMPORT}http`],
  ['src/operations/fleet/*.ts', 'process.exit(1);', 'noJsRestrictedProperties: '],
  ['src/operations/fleet/*.ts', 'process.abort();', 'noJsRestrictedProperties: '],
  // Names, exports, sizes, types and tests.
  ['src/flow/fooBar.ts', 'f();', 'useFilenamingConvention: '],
  ['test/foo_bar.test.ts', 'f();', 'useFilenamingConvention: '],
  ['src/flow/*.ts', 'export default 1;', 'noDefaultExport: '],
  ['src/flow/*.ts', 'const a = 1;\nexport { a as default };', 'noDefaultExport: '],
  ['src/flow/*.ts', "export { x } from './x.ts';", 'noBarrelFile: '],
  ['src/flow/*.ts', "export * from './x.ts';", 'noBarrelFile: '],
  ['src/flow/*.ts', 'f();\n'.repeat(401), 'noExcessiveLinesPerFile: '],
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
  example('src/ports/first.ts', "import type { B } from './second.ts';\nexport type A = B;"),
  example('src/ports/second.ts', "import type { A } from './first.ts';\nexport type B = A;"),
];
const long = example('test/*.test.ts', `describe('all', () => {\n${'f();\n'.repeat(401)}});`);

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
