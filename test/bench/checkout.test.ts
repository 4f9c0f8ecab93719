// Tests the checkout of another commit: it has the content of the commit, is built, and is removed
// afterwards.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkOut, findCommit, startArguments } from '../../bench/compare/checkout.ts';
import { findBinary } from '../support/find-binary.ts';

const BUILD = `import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist');
writeFileSync('dist/main.js', 'first');`;

/** Whether the machine has no git, as one that only serves; where CI runs, that is a fault. */
const isMissing = findBinary('git') === undefined && process.env.SLUICE_REQUIRE_REAL !== '1';
const title = 'the checkout of a commit';

let root = '';

function git(...args: string[]): string {
  const named = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args];
  const { status, stdout, stderr } = spawnSync('git', named, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function lockOf(version: string): string {
  const packages = { '': { name: 'tree', version } };
  return JSON.stringify({ name: 'tree', version, lockfileVersion: 3, packages });
}

/** Commits the tree as it is; returns the id of the commit. */
function commit(): string {
  git('add', '.');
  git('commit', '--quiet', '--message', 'A tree');
  return git('rev-parse', 'HEAD').trim();
}

describe.skipIf(isMissing)(isMissing ? `${title} (skipped: no git on this machine)` : title, () => {
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-checkout-'));
    git('init', '--quiet');
    write('.gitignore', 'node_modules\ndist\n');
    const scripts = { start: 'node --flag=1 dist/main.js' };
    write('package.json', JSON.stringify({ name: 'tree', version: '1.0.0', scripts }));
    write('package-lock.json', lockOf('1.0.0'));
    write('scripts/build.mjs', BUILD);
    write('node_modules/one/index.js', '');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('finds a commit by branch, tag and id, and nothing by another name', () => {
    const id = commit();
    git('tag', 'v1');
    for (const name of ['HEAD', 'v1', id, id.slice(0, 8)]) expect(findCommit(root, name)).toBe(id);
    for (const name of ['v2', '', '--all', 'HEAD:scripts']) {
      expect(findCommit(root, name)).toBeUndefined();
    }
  });

  it('builds the commit beside the tree, with the packages they share, and removes both again', () => {
    const id = commit();
    write('scripts/build.mjs', 'throw new Error("the present tree is not built")');
    const { folder, remove } = checkOut(root, id);
    expect(readFileSync(join(folder, 'dist/main.js'), 'utf8')).toBe('first');
    expect(lstatSync(join(folder, 'node_modules')).isSymbolicLink()).toBe(true);
    expect(existsSync(join(folder, 'node_modules/one/index.js'))).toBe(true);
    expect(startArguments(folder)).toEqual(['--flag=1', join(folder, 'dist/main.js')]);
    remove();
    expect(existsSync(dirname(folder))).toBe(false);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(existsSync(join(root, 'node_modules/one/index.js'))).toBe(true);
  });

  it('installs other packages for a commit that has others', () => {
    const id = commit();
    write('package-lock.json', lockOf('2.0.0'));
    const { folder, remove } = checkOut(root, id);
    expect(existsSync(join(folder, 'node_modules/one'))).toBe(false);
    remove();
    expect(existsSync(join(root, 'node_modules/one/index.js'))).toBe(true);
  });

  it('leaves nothing when the commit cannot be built, and says why', () => {
    write('scripts/build.mjs', 'throw new Error("no such compiler")');
    const id = commit();
    expect(() => checkOut(root, id)).toThrow('no such compiler');
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });

  it('starts a tree only with a start script that is Node.js itself', () => {
    write('package.json', JSON.stringify({ scripts: { start: 'tsx src/main.ts' } }));
    expect(() => startArguments(root)).toThrow('tsx src/main.ts');
  });
});
