// Checkout of another commit of this repository beside the present tree, with its dependencies, built.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Checkout = {
  readonly folder: string;
  /** Removes the checkout. When this process ends without a call, its end removes the checkout. */
  remove(): void;
};

const OUTPUT_BYTES_MAX = 64 * 2 ** 20;
const OUTPUT_SHOWN = 2000;

/** Full id of the commit that a branch, tag or id names; undefined when it names none. */
export function findCommit(root: string, ref: string): string | undefined {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Checks a commit out into a temporary git worktree and builds it. */
export function checkOut(root: string, commit: string): Checkout {
  const parent = mkdtempSync(join(tmpdir(), 'sluice-compare-'));
  const folder = join(parent, 'tree');
  const discard = () => {
    // Git lists every worktree. `remove` deletes the entry; when the worktree is broken, pruning does.
    const { status } = spawnSync('git', ['worktree', 'remove', '--force', folder], { cwd: root });
    rmSync(parent, { recursive: true, force: true, maxRetries: 3 });
    if (status !== 0) spawnSync('git', ['worktree', 'prune'], { cwd: root });
  };
  process.once('exit', discard);
  const remove = () => {
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

/** Arguments with which `npm start` of a checkout starts Node.js. */
export function startArguments(folder: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly scripts?: Readonly<Record<string, string>>;
  };
  const [program, ...args] = scripts?.start?.split(/\s+/) ?? [];
  const main = args.pop();
  if (program !== 'node' || main === undefined) {
    throw new Error(`its start script is not \`node … FILE\`: ${scripts?.start}`);
  }
  return [...args, join(folder, main)];
}

/** Gives a checkout this tree's packages when it wants the same ones, and its own otherwise. */
function addDependencies(root: string, folder: string): void {
  const [own, other] = [root, folder].map((each) => readFileSync(join(each, 'package-lock.json')));
  if (other !== undefined && own?.equals(other)) {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
    return;
  }
  console.error('  npm ci, since its package-lock.json is another …');
  // The prefix by name, because npm tells its scripts that of the present tree in their environment.
  run(folder, 'npm', ['ci', '--no-audit', '--no-fund', '--prefix', folder]);
}

/** Runs a program and blocks until it ends, so that no program outlives this process. */
function run(cwd: string, program: string, args: readonly string[]): void {
  const { status, signal, error, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (error !== undefined) throw error;
  if (status === 0) return;
  const output = `${stdout}${stderr}`.trim().slice(-OUTPUT_SHOWN);
  throw new Error(`${program} ${args.join(' ')} ended with ${status ?? signal}:\n${output}`);
}
