// Tests `npm run release` in a clone of its own: what it makes, the tag that it puts on the commit, and what
// it refuses before it builds anything.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../bench/suite/checkout.ts';

const PERSON = { name: 'A Maintainer', email: 'maintainer@example.com' };
const ENV = {
  ...process.env,
  ...{ GIT_AUTHOR_NAME: PERSON.name, GIT_AUTHOR_EMAIL: PERSON.email },
  ...{ GIT_COMMITTER_NAME: PERSON.name, GIT_COMMITTER_EMAIL: PERSON.email },
};
const HEADING = '## [9.9.9] - 2030-01-02\n\nTag `v9.9.9`.\n\n### Added\n\n- Something.\n';

describe('npm run release', () => {
  let parent: string;
  let clone: string;

  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: clone, env: ENV, encoding: 'utf8' }).trim();

  function release(folder: string) {
    const args = ['scripts/release.mjs', join(parent, folder)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: clone,
      env: ENV,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  /** Commits a changelog whose entries are these, in place of what is not released. */
  function commitChangelog(entries: string): void {
    const [head = '', , ...sections] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(
      /^(?=## \[)/m,
    );
    writeFileSync(join(clone, 'CHANGELOG.md'), [head, entries, ...sections].join('\n'));
    git('commit', '--quiet', '--all', '--message', 'release: a version');
  }

  beforeAll(() => {
    parent = mkdtempSync(join(tmpdir(), 'sluice-release-test-'));
    clone = join(parent, 'clone');
    // Without the tags there are, whichever these be.
    execFileSync('git', ['clone', '--quiet', '--no-tags', ROOT, clone]);
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'), 'dir');
    // As it stands in the working tree, also before it is committed.
    writeFileSync(
      join(clone, 'scripts/release.mjs'),
      readFileSync(join(ROOT, 'scripts/release.mjs')),
    );
    execFileSync('npm', ['version', '9.9.9', '--no-git-tag-version'], { cwd: clone });
  });
  afterAll(() => rmSync(parent, { recursive: true, force: true }));

  it('refuses a changelog that does not have the version, its tag, or all its entries', () => {
    for (const [entries, reason] of [
      ['## [Unreleased]\n', 'CHANGELOG.md has no heading for 9.9.9'],
      ['## [9.9.9] - 2030-01-02\n', 'CHANGELOG.md does not name the tag v9.9.9 below its heading'],
      [`## [Unreleased]\n\n- More.\n\n${HEADING}`, 'CHANGELOG.md has entries under Unreleased'],
    ] as const) {
      commitChangelog(entries);
      expect(release('refused')).toMatchObject({ status: 2, stderr: `release: ${reason}\n` });
    }
    expect(git('tag')).toBe('');
  });

  it('makes the files, tags their commit, and says how to push the tag', () => {
    commitChangelog(`## [Unreleased]\n\n${HEADING}`);
    const commit = git('rev-parse', 'HEAD');
    const { status, stdout, stderr } = release('made');
    expect([status, stderr]).toEqual([0, '']);
    const made = join(parent, 'made');
    expect(readdirSync(made).sort()).toEqual([
      'SHA256SUMS',
      'sluice-9.9.9-image.tgz',
      'sluice-9.9.9.cdx.json',
      'sluice-9.9.9.tgz',
      'sluice-cli-9.9.9.tgz',
    ]);
    expect(
      execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: made, encoding: 'utf8' }),
    ).toContain('sluice-9.9.9.tgz: OK');
    expect(git('cat-file', '-t', 'v9.9.9')).toBe('tag');
    expect(git('rev-parse', 'v9.9.9^{commit}')).toBe(commit);
    expect(git('cat-file', 'tag', 'v9.9.9')).toContain('\n\nSluice 9.9.9');
    expect(stdout).toContain('git push origin v9.9.9');
    expect(git('status', '--porcelain')).toBe('');
  });

  it('refuses a version whose tag is on another commit', () => {
    const tagged = git('rev-parse', 'v9.9.9');
    git('commit', '--quiet', '--allow-empty', '--message', 'later');
    const refused = release('again');
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(
      /^release: the tag v9\.9\.9 is on commit \w{40}, and not on \w{40}/,
    );
    expect(git('rev-parse', 'v9.9.9')).toBe(tagged);
  });
});
