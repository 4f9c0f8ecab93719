// Prepares builds for `price`: each in a folder of its own with its own packages, and without links, because
// Node.js loads a file once, wherever it was linked from. Its modules are compiled as they stand in `dist/`
// before they are bundled; the ledger and uWebSockets.js are replaced.

import { execFileSync } from 'node:child_process';
import {
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { ROOT } from '../suite/checkout.ts';
import type { PreparedBuild } from './inside/entered-build.ts';
import { layoutOf } from './layouts.ts';

const SOURCES = ['src', 'package.json', 'package-lock.json', 'tsconfig.json'];
const SERVER_PACKAGE = 'node_modules/uWebSockets.js';
const COPY = { recursive: true, mode: constants.COPYFILE_FICLONE } as const;
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

/** Compiles what runs inside the measured process; returns its folder. */
export function compileInside(parent: string): string {
  const folder = join(parent, 'inside');
  const file = (name: string) => join(ROOT, 'bench', 'price', 'inside', `${name}.ts`);
  const files = ['measure-price', 'memory-ledger', 'uws-stub'].map(file);
  const options = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
  const output = ['--rewriteRelativeImportExtensions', '--noCheck', '--outDir', folder];
  compile([...files, '--ignoreConfig', '--rootDir', join(ROOT, 'bench'), ...options, ...output]);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  return folder;
}

/** Program of the measured process. */
export function programIn(inside: string): string {
  return join(inside, 'price', 'inside', 'measure-price.js');
}

/** Prepares the present tree, or a commit of this repository. */
export function prepareBuild(folder: string, inside: string, commit?: string): PreparedBuild {
  mkdirSync(folder, { recursive: true });
  if (commit === undefined)
    for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), COPY);
  else extract(folder, commit);
  copyPackages(folder);
  const typeless = ['--types', '', '--noCheck', '--sourceMap', 'false'];
  compile(['-p', join(folder, 'src'), '--outDir', join(folder, 'dist'), ...typeless]);
  copyAssets(folder);
  cpSync(inside, join(folder, 'inside'), COPY);
  replaceServer(folder);
  const layout = layoutOf(folder);
  replaceLedger(folder, layout.ledger);
  return { folder, layout, dataDir: join(folder, 'data') };
}

/** Prepares the same build once more: a copy, so that no file of it is loaded for both. */
export function copyBuild(build: PreparedBuild, folder: string): PreparedBuild {
  run(ROOT, 'cp', ['-R', build.folder, folder]);
  return { ...build, folder, dataDir: join(folder, 'data') };
}

function extract(folder: string, commit: string): void {
  const archive = join(folder, 'sources.tar');
  run(ROOT, 'git', ['archive', '--output', archive, commit, ...SOURCES]);
  run(folder, 'tar', ['-xf', archive]);
  rmSync(archive);
}

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean }>
  >;
};

/** Copies the packages of the service from the present tree; installs them where it has other ones. */
function copyPackages(folder: string): void {
  const own = lockOf(ROOT);
  const wanted = Object.entries(lockOf(folder)).filter(([path, { dev }]) => path !== '' && !dev);
  if (wanted.some(([path, { version }]) => own[path]?.version !== version)) {
    console.error('  npm ci, since its packages are others …');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--omit=dev'];
    run(folder, 'npm', ['ci', ...quiet, '--prefix', folder]);
    return;
  }
  const homes = new Set(wanted.flatMap(([path]) => homeOf(path)));
  for (const home of homes) {
    const to = join(folder, dirname(home));
    mkdirSync(to, { recursive: true });
    run(ROOT, 'cp', ['-R', home, to]);
  }
}

/** Returns the outermost package of a path, which has those inside of it; none that is not installed here. */
function homeOf(path: string): string[] {
  const [home = path] = /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
  return existsSync(join(ROOT, home)) ? [home] : [];
}

function lockOf(folder: string): Lock['packages'] {
  const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  return (JSON.parse(text) as Lock).packages;
}

/** Copies what the compiler leaves out, and puts empty pages in the place of the console. */
function copyAssets(folder: string): void {
  const [from, to] = [join(folder, 'src'), join(folder, 'dist')];
  cpSync(from, to, {
    ...COPY,
    filter: (file) => !/\.(?:tsx?|jsonc?|grit|css|svg|html)$/.test(file),
  });
  for (const page of ['console', 'reference']) {
    mkdirSync(join(to, page, 'assets'), { recursive: true });
    // Compressed forms as well, which builds of before read.
    for (const name of ['index.html', 'index.html.br', 'index.html.gz']) {
      writeFileSync(join(to, page, name), '<!doctype html><title>Empty</title>\n');
    }
  }
}

function replaceServer(folder: string): void {
  const home = join(folder, SERVER_PACKAGE);
  rmSync(home, { recursive: true });
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{ "type": "module", "main": "index.js" }\n');
  writeFileSync(join(home, 'index.js'), `export * from ${insideFrom(folder, home, 'uws-stub')};\n`);
}

/** Lets the module that opens the ledger open one in memory; its other functions stay. */
function replaceLedger(folder: string, file: string): void {
  const module = join(folder, file);
  const whole = module.replace(/\.js$/, '.whole.js');
  renameSync(module, whole);
  const opened = insideFrom(folder, dirname(module), 'memory-ledger');
  const text = `export * from './${basename(whole)}';\nexport { openLedger } from ${opened};\n`;
  writeFileSync(module, text);
}

/** Returns the specifier of the build's own copy of a module. */
function insideFrom(folder: string, from: string, name: string): string {
  return JSON.stringify(
    relative(from, programIn(join(folder, 'inside'))).replace('measure-price', name),
  );
}

function compile(args: readonly string[]): void {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  run(ROOT, process.execPath, [compiler, ...args]);
}

/** Runs a program and blocks until it ends, so that no program outlives this process. */
function run(cwd: string, program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd, stdio: 'pipe', maxBuffer: OUTPUT_BYTES_MAX });
}
