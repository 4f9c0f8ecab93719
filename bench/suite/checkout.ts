// Checkout of another commit of this repository beside the present tree, with its dependencies, built.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Refusal } from '../benchmark.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

export function commitOf(ref = '', root = ROOT): string {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Refusal(`no commit ${ref} in this repository`);
  return stdout.trim();
}

/** Checks a commit out into a worktree, until `remove` or the end of this process, and builds it. */
export function checkOut(commit: string, root = ROOT) {
  console.error(`  check-out and build of ${commit.slice(0, 12)} …`);
  const parent = mkdtempSync(join(tmpdir(), 'sluice-compare-'));
  const folder = join(parent, 'tree');
  const discard = () => {
    // Git lists every worktree. `remove` deletes the entry; when the worktree is broken, pruning does.
    const { status } = spawnSync('git', ['worktree', 'remove', '--force', folder], { cwd: root });
    rmSync(parent, { recursive: true, force: true, maxRetries: 3 });
    if (status !== 0) spawnSync('git', ['worktree', 'prune'], { cwd: root });
  };
  process.once('exit', discard);
  const remove = (): void => {
    process.off('exit', discard);
    discard();
  };
  try {
    run(root, 'git', ['worktree', 'add', '--detach', folder, commit]);
    addDependencies(root, folder);
    run(folder, process.execPath, ['scripts/build.mjs']);
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

export function startArguments(folder: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly scripts?: Readonly<Record<string, string>>;
  };
  const [program, ...args] = scripts?.start?.split(/\s+/) ?? [];
  const main = args.pop();
  if (program === 'node' && main !== undefined) return [...args, join(folder, main)];
  throw new Error(`its start script is not \`node … FILE\`: ${scripts?.start}`);
}

/** Gives a checkout this tree's packages when it wants the same ones, and its own otherwise. */
function addDependencies(root: string, folder: string): void {
  const [own, other] = [root, folder].map(packagesOf);
  if (own === other) {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
    return;
  }
  console.error('  npm ci, since its package-lock.json is another …');
  // The prefix by name, because npm tells its scripts that of the present tree in their environment.
  run(folder, 'npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder]);
}

/** Returns the packages of a lock file as text, without the version of the repository itself. */
function packagesOf(folder: string): string {
  const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const { packages = {} } = JSON.parse(text) as { packages?: Readonly<Record<string, object>> };
  return JSON.stringify({ ...packages, '': { ...packages[''], version: undefined } });
}

/** Runs a program and blocks until it ends, so that no program outlives this process. */
function run(cwd: string, program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd, stdio: 'pipe', maxBuffer: OUTPUT_BYTES_MAX });
}
