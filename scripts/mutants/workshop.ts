// A copy of the tree in which one mutation at a time is made and judged by tests. What runs there is not
// bundled, so that a mutation of the service costs the compilation of one file, and not a build.

import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformWithOxc } from 'vite';
import { type Mutant, mutated, ROOT } from './mutant.ts';
import { inFunctions, isProbed, probed, type Reach, readReach } from './reach.ts';

/** What a run of tests has shown. */
export type Verdict = {
  /** `file > test` of each test that failed, or the file where it did not load. */
  readonly failed: readonly string[];
  readonly passed: number;
  /** Whether the run was ended because it took too long. */
  readonly isLate: boolean;
  readonly seconds: number;
};

export type Bounds = {
  /** Seconds after which the tests are ended. */
  readonly secondsMax: number;
  /** Whether the tests end at the first that fails. */
  readonly isFirst: boolean;
};

/** What vitest writes for each file. */
type FileReport = {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
};

type End = 'passed' | 'failed' | 'late';

const REACH_SECONDS_MAX = 3600;
/** What is noticed where no test fails, and the run does: what all suites need did not start. */
const WHOLE_RUN = 'the run as a whole';

export class Workshop {
  private readonly folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));

  /** Short hash of the commit that is checked out. */
  readonly commit = runOrThrow('git', ['rev-parse', '--short', 'HEAD'], ROOT).trim();

  /** Copies the commit, and builds it. */
  constructor() {
    runOrThrow('git', ['worktree', 'add', '--detach', '--force', this.folder, 'HEAD'], ROOT);
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    this.build();
  }

  /** Runs tests, by vitest's arguments, on a mutant or on the tree as it is. */
  async judge(
    mutant: Mutant | undefined,
    tests: readonly string[],
    bounds: Bounds,
  ): Promise<Verdict> {
    if (mutant === undefined) return this.test(tests, bounds);
    const path = join(this.folder, mutant.file);
    const text = readFileSync(path, 'utf8');
    await this.write(mutant.file, mutated(mutant, text));
    try {
      return await this.test(tests, bounds);
    } finally {
      await this.write(mutant.file, text);
    }
  }

  /** Runs suites, one test after the other, and returns which tests reach each mutant in TypeScript. */
  async measureReach(
    mutants: readonly Mutant[],
    suites: readonly string[],
  ): Promise<ReadonlyMap<string, Reach>> {
    const notes = join(this.folder, 'scripts', 'reach');
    mkdirSync(notes);
    for (const name of ['probe.mjs', 'reach-setup.ts', 'vitest.config.ts'])
      copyFileSync(join(import.meta.dirname, name), join(notes, name));
    const files = [...new Set(mutants.map(({ file }) => file))].filter(isProbed);
    const texts = files.map((file) => readFileSync(join(this.folder, file), 'utf8'));
    for (const [at, file] of files.entries()) {
      const own = mutants.filter((each) => each.file === file);
      await this.write(file, probed(file, texts[at] ?? '', own, join(notes, 'probe.mjs')));
    }
    const config = ['--config', join(notes, 'vitest.config.ts')];
    const end = await this.runVitest([...suites, ...config], REACH_SECONDS_MAX);
    if (end === 'late') throw new Error(`the tests did not end within ${REACH_SECONDS_MAX} s`);
    const reached = new Map(readReach(notes, this.folder));
    for (const [at, file] of files.entries()) {
      const text = texts[at] ?? '';
      await this.write(file, text);
      const own = mutants.filter((each) => each.file === file);
      for (const { id } of inFunctions(file, text, own)) {
        if (!reached.has(id)) reached.set(id, new Map());
      }
    }
    return reached;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
    runOrThrow('git', ['worktree', 'prune'], ROOT);
  }

  private build(): void {
    runOrThrow('node', ['scripts/build.mjs'], this.folder);
    const compile = [
      'node_modules/typescript/bin/tsc',
      '-p',
      'src',
      '--outDir',
      'dist',
      '--noCheck',
    ];
    // In place of the bundles.
    runOrThrow('node', compile, this.folder);
  }

  /** Writes a source, and what runs of it. */
  private async write(file: string, text: string): Promise<void> {
    const path = join(this.folder, file);
    writeFileSync(path, text);
    if (file.startsWith('src/console/')) return this.build();
    const built = join(this.folder, file.replace(/^src/, 'dist'));
    if (!file.endsWith('.ts')) copyFileSync(path, built);
    else {
      const { code } = await transformWithOxc(text, path);
      const imported = code.replace(/(["']\.{1,2}\/[^"']+)\.ts(["'])/g, '$1.js$2');
      writeFileSync(built.replace(/\.ts$/, '.js'), imported);
    }
    // The build is as new as its sources.
    const now = new Date();
    utimesSync(join(this.folder, 'dist', '.built'), now, now);
  }

  private async test(tests: readonly string[], { secondsMax, isFirst }: Bounds): Promise<Verdict> {
    const report = join(this.folder, 'report.json');
    rmSync(report, { force: true });
    const begun = performance.now();
    const json = ['--reporter', 'json', '--outputFile', report];
    const bail = isFirst ? ['--bail', '1'] : [];
    const end = await this.runVitest([...tests, ...json, ...bail], secondsMax);
    const isLate = end === 'late';
    const seconds = Math.round((performance.now() - begun) / 1000);
    const files = isLate || !existsSync(report) ? [] : readReport(report);
    const results = files.flatMap(({ name, status, assertionResults }) => {
      const file = name.slice(this.folder.length + 1);
      const none = status === 'failed' && assertionResults.length === 0;
      const tests = assertionResults.map((each) => [`${file} > ${each.fullName}`, each.status]);
      return none ? [[file, 'failed']] : tests;
    });
    const failed = results.filter(([, status]) => status === 'failed').map(([name = '']) => name);
    const passed = results.filter(([, status]) => status === 'passed').length;
    if (end === 'failed' && failed.length === 0) failed.push(WHOLE_RUN);
    return { failed, passed, isLate, seconds };
  }

  /** Runs units and what needs servers; returns how that ended: it is ended when it takes too long. */
  private runVitest(args: readonly string[], secondsMax: number): Promise<End> {
    const command = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit'];
    const child = spawn(process.execPath, [...command, '--project', 'servers', ...args], {
      cwd: this.folder,
      detached: true,
      stdio: 'ignore',
    });
    return new Promise((resolve) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        // The group: a mutant may keep a worker from ending.
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      }, secondsMax * 1000);
      child.on('exit', (code) => {
        clearTimeout(timer);
        const end = code === 0 ? 'passed' : 'failed';
        resolve(isLate ? 'late' : end);
      });
    });
  }
}

function readReport(path: string): readonly FileReport[] {
  const { testResults } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly testResults: readonly FileReport[];
  };
  return testResults;
}

function runOrThrow(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
