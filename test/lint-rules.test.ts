// Runs Biome, with this repository's rules, on a small tree that breaks them one by one: a rule without an
// example of its breach may never look. One run for all examples.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const CONFIGURATION = ['biome.jsonc', 'src/biome.jsonc', 'src/imports.grit', '.gitignore'];
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const BYTES_MAX = 16 * 1024 * 1024;

/** Text of a file, and how the complaint about it goes; undefined where it is allowed. */
type Example = readonly [path: string, text: string, complaint?: string | undefined];
type Diagnostic = { category: string; message: string; location: { path: string } };

/**
 * Rooms, with what they may not import and whose rule says so; `type:` stands before what is a type. What
 * they may import, this repository imports.
 */
const ROOMS = `
  src/contract/*.ts | ../domain/release/x.ts zod | contract
  src/contract/answer-shape.ts | ./limit.ts | contract/answer-shape.ts
  src/domain/release/*.ts | ../../store/x.ts ../fleet/x.ts | domain/release
  src/domain/fleet/*.ts | lru-cache | domain/fleet
  src/domain/decision/*.ts | ../fleet/x.ts node:fs | domain/decision
  src/domain/decision/rule/*.ts | ../../fleet/x.ts | A decision rule
  src/updater/*.ts | ../fleet/x.ts node:crypto | updater
  src/words/*.ts | ../console/format/x.ts ../flow/x.ts | words
  src/flow/*.ts | ../observe/x.ts type:../http/x.ts | flow
  src/process/*.ts | ../store/ledger/x.ts | process
  src/settings/*.ts | ../node/x.ts | settings
  src/observe/*.ts | ../fleet/x.ts | observe
  src/store/*.ts | ./redis/x.ts | The interfaces of store
  src/store/memory/*.ts | ../redis/x.ts ioredis | store/memory
  src/store/redis/*.ts | ../memory/x.ts ../ledger/x.ts | store/redis
  src/store/disk/*.ts | ../observe/x.ts | store/disk
  src/store/ledger/*.ts | ../redis/x.ts | store/ledger
  src/store/ledger/change/*.ts | ../release/x.ts | store/ledger/change
  src/store/ledger/fleet/*.ts | ../people/x.ts | fleet and people
  src/access/*.ts | ../fleet/x.ts | access
  src/fleet/*.ts | ../serving/x.ts ../store/ledger/x.ts pg | fleet
  src/fleet/*.ts | ioredis uWebSockets.js | fleet
  src/serving/*.ts | ../publishing/x.ts | serving
  src/notify/*.ts | ../publishing/x.ts | notify
  src/publishing/*.ts | ../http/x.ts | publishing
  src/edge/*.ts | ../fleet/x.ts ./server/x.ts | edge
  src/edge/server/*.ts | ../x.ts | edge/server
  src/http/api/*.ts | ../../edge/x.ts preact | http
  src/http/api/*.ts | type:../../store/ledger/x.ts | http
  src/http/device/*.ts | type:uWebSockets.js ../../node/x.ts | http
  src/http/transport/*.ts | uWebSockets.js | http
  src/console/*.tsx | ../http/x.ts | console
  src/console/home/*.tsx | ../../store/x.ts zod | console
  src/console/hook/*.ts | node:fs | console
  src/node/assemble/*.ts | @electric-sql/pglite/worker | node
  src/node/processes/*.ts | ../../main.ts | node
  src/cli/*.ts | ../fleet/x.ts ../main.ts | cli
  src/main.ts | ./store/ledger/x.ts | main.ts
  src/shed/*.ts | ../contract/x.ts | This folder has no import rule
  src/store/shed/*.ts | ../contract/x.ts | This folder has no import rule
  src/shed.ts | ./contract/x.ts | This folder has no import rule`;

const IMPORT = 'noRestrictedImports: ';
const imports: readonly Example[] = ROOMS.trim()
  .split('\n')
  .flatMap((row) => {
    const [path = '', refused = '', rule] = row.split('|').map((cell) => cell.trim());
    return refused.split(' ').map((name): Example => {
      const [, isType, from] = /^(type:)?(.*)$/.exec(name) ?? [];
      const statement = isType ? `import type { X } from '${from}';\nexport type A = X;` : '';
      return [path, statement || `import '${from}';`, IMPORT + rule];
    });
  });

const ENVIRONMENT = 'src/http/transport/*.ts';
const TYPES_ONLY = 'plugin: This room may take only types from there.';
const others: readonly Example[] = [
  ['src/settings/*.ts', 'export const a = process.env;'],
  ['src/store/*.ts', "export type { X } from '../domain/release/x.ts';"],
  ['src/cli/*.ts', 'process.exit(1);'],
  ['src/fleet/*.ts', 'process.exitCode = 1;'],
  ['test/*.test.ts', 'if (process.env.CI) process.exit(1);'],
  ['bench/*.ts', 'if (process.env.CI) process.exit(1);'],
  // Tests may be longer than files and functions.
  ['test/*.test.ts', `describe('all', () => {\n${'f();\n'.repeat(501)}});`],
  // Neither a string nor a comment is an import.
  ['src/domain/release/*.ts', "// import '../http/x.ts';\nf(\"import '../http/x.ts'\");"],
  // There is no detour through a folder that may be imported, or through the room itself.
  ['src/domain/fleet/*.ts', "import '../decision/../../store/x.ts';", `${IMPORT}domain/fleet`],
  ['src/domain/fleet/*.ts', "import './../../store/x.ts';", `${IMPORT}domain/fleet`],
  // Every form of an import.
  ['src/flow/*.ts', "export type { X } from '../http/x.ts';", `${IMPORT}flow`],
  ['src/flow/*.ts', "await import('../http/x.ts');", `${IMPORT}flow`],
  ['src/flow/*.ts', "import {\n  x,\n  y,\n} from '../http/x.ts';\nx(y);", `${IMPORT}flow`],
  ['src/flow/*.ts', "export type A = typeof import('../http/x.ts');", 'plugin: Import the type by'],
  ['src/flow/*.ts', "export type A = import('../http/x.ts').X;", 'plugin: Import the type by'],
  // Types only.
  ['src/console/*.ts', "import '../contract/answer-shape.ts';", 'plugin: This room'],
  ['src/fleet/*.ts', "import { x } from '../observe/x.ts';\nx();", TYPES_ONLY],
  ['src/fleet/*.ts', "import { type X, y } from '../observe/x.ts';\nf<X>(y);", TYPES_ONLY],
  ['src/observe/*.ts', "import { x } from '../settings/x.ts';\nx();", TYPES_ONLY],
  ['src/http/api/*.ts', "import { x } from '../../store/engine.ts';\nx();", TYPES_ONLY],
  ['src/store/ledger.ts', "import { x } from './ledger/sql-ledger.ts';\nx();", TYPES_ONLY],
  // The environment and the end of the process.
  [ENVIRONMENT, 'f(process.env.PORT);', 'noProcessEnv: '],
  [ENVIRONMENT, 'f(process?.env);', 'noProcessEnv: '],
  [
    ENVIRONMENT,
    "// biome-ignore lint/complexity/useLiteralKeys: an example.\nf(process['env']);",
    'noProcessEnv: ',
  ],
  [ENVIRONMENT, "import { env } from 'node:process';\nf(env);", `${IMPORT}http`],
  ['src/fleet/*.ts', 'process.exit(1);', 'noJsRestrictedProperties: '],
  ['src/fleet/*.ts', 'process.abort();', 'noJsRestrictedProperties: '],
  // Names, exports, circles, sizes, types and tests.
  ['src/flow/fooBar.ts', 'f();', 'useFilenamingConvention: '],
  ['test/foo_bar.test.ts', 'f();', 'useFilenamingConvention: '],
  ['src/flow/*.ts', 'export default 1;', 'noDefaultExport: '],
  ['src/flow/*.ts', 'const a = 1;\nexport { a as default };', 'noDefaultExport: '],
  ['src/flow/*.ts', "export { x } from './x.ts';", 'noBarrelFile: '],
  ['src/flow/*.ts', "export * from './x.ts';", 'noBarrelFile: '],
  ['src/store/a.ts', "import type { B } from './b.ts';\nexport type A = B;", 'noImportCycles: '],
  ['src/store/b.ts', "import type { A } from './a.ts';\nexport type B = A;", 'noImportCycles: '],
  ['src/flow/*.ts', 'f();\n'.repeat(501), 'noExcessiveLinesPerFile: '],
  ['src/flow/*.ts', `f(() => {\n${'f();\n'.repeat(71)}});`, 'noExcessiveLinesPerFunction: '],
  ['src/flow/*.ts', 'export const a: any = 1;', 'noExplicitAny: '],
  ['src/flow/*.ts', `// @ts-${'ignore'}\nf();`, 'noTsIgnore: '],
  ['test/*.test.ts', `${'it'}.skip('a rule', () => f());`, 'noSkippedTests: '],
  ['test/*.test.ts', `${'describe'}.skip('a rule', () => f());`, 'noSkippedTests: '],
  ['test/*.test.ts', `${'it'}.only('a rule', () => f());`, 'noFocusedTests: '],
];
const examples = [...imports, ...others].map(([path, text, complaint], index) => ({
  ...{ path: path.replace('*', `example-${index}`), text, complaint },
  title: text.replaceAll('\n', ' ').slice(0, 80),
}));
let diagnostics: readonly Diagnostic[] = [];

beforeAll(() => {
  const tree = mkdtempSync(join(tmpdir(), 'sluice-lint-'));
  try {
    for (const path of [...CONFIGURATION, ...examples.map((each) => each.path)]) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
    }
    for (const path of CONFIGURATION) copyFileSync(join(ROOT, path), join(tree, path));
    for (const { path, text } of examples) writeFileSync(join(tree, path), `${text}\n`);
    const args = [BIOME, 'lint', '--reporter=json', '--max-diagnostics=none', '.'];
    // The exit code is 1 by design: the tree breaks the rules.
    const run = spawnSync(process.execPath, args, { cwd: tree, maxBuffer: BYTES_MAX });
    diagnostics = (JSON.parse(String(run.stdout)) as { diagnostics: Diagnostic[] }).diagnostics;
  } finally {
    rmSync(tree, { recursive: true });
  }
});

it('every example lies in a file of its own', () => {
  expect(new Set(examples.map(({ path }) => path)).size).toBe(examples.length);
});

it.each(examples)('$path: $title', ({ path, complaint }) => {
  const complaints = diagnostics
    .filter(({ location }) => location.path === path)
    .map(({ category, message }) => `${category.split('/').at(-1)}: ${message}`);
  expect(complaints).toEqual(complaint === undefined ? [] : [expect.stringContaining(complaint)]);
});
