// Tests the checkout of another commit: it is that of the commit, is built, and is removed afterwards.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkOut, commitOf, startArguments } from '../../bench/suite/checkout.ts';
import { findBinary } from '../support/find-binary.ts';

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
  fs.mkdirSync(dirname(join(root, path)), { recursive: true });
  fs.writeFileSync(join(root, path), text);
}

/** Commits the tree as it is; returns the id of the commit. */
function commit(): string {
  git('add', '.');
  git('commit', '--quiet', '--message', 'A tree');
  return git('rev-parse', 'HEAD').trim();
}

describe.skipIf(isMissing)(isMissing ? `${title} (skipped: no git on this machine)` : title, () => {
  beforeEach(() => {
    root = fs.mkdtempSync(join(tmpdir(), 'sluice-checkout-'));
    git('init', '--quiet');
    write('.gitignore', 'node_modules\ndist\n');
    write('package.json', '{ "scripts": { "start": "node --flag=1 dist/main.js" } }');
    write('package-lock.json', '{}');
    write('scripts/build.mjs', "import fs from 'node:fs'; fs.mkdirSync('dist');");
    write('node_modules/one/index.js', '');
  });
  afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

  it('builds a commit of any name beside the tree, with shared packages, and removes both again', () => {
    const id = commit();
    git('tag', 'v1');
    for (const name of ['HEAD', 'v1', id, id.slice(0, 8)]) expect(commitOf(name, root)).toBe(id);
    for (const name of ['v2', '', '--all', 'HEAD:scripts']) {
      expect(() => commitOf(name, root)).toThrow('no commit');
    }
    write('scripts/build.mjs', 'throw new Error("the present tree is not built")');
    const { folder, remove } = checkOut(id, root);
    expect(fs.existsSync(join(folder, 'dist'))).toBe(true);
    expect(fs.lstatSync(join(folder, 'node_modules')).isSymbolicLink()).toBe(true);
    expect(startArguments(folder)).toEqual(['--flag=1', join(folder, 'dist/main.js')]);
    remove();
    expect(fs.existsSync(dirname(folder))).toBe(false);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(fs.existsSync(join(root, 'node_modules/one/index.js'))).toBe(true);
    // What cannot be built or started leaves nothing, and says why.
    expect(() => checkOut(commit(), root)).toThrow('the present tree is not built');
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    write('package.json', '{ "scripts": { "start": "tsx src/main.ts" } }');
    expect(() => startArguments(root)).toThrow('tsx src/main.ts');
  });
});
