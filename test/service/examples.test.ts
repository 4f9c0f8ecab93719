// Tests the scripts of the recipes below examples/ against a service: with the programs that they call
// replaced by ones that note what they were told, and the command of this build in the place of its package.

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { type CommandResult, SLUICE_COMMAND } from '../support/sluice-command.ts';

type Workflow = {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly name?: string; readonly run?: string }[] }>
  >;
};

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const ACTION = join(EXAMPLES, 'publish-action', 'publish.sh');
const S3 = join(EXAMPLES, 's3', 'publish.sh');
const URL_BASE = 'https://downloads.example.com';

serviceSuite('the recipes', (node) => {
  let folder: string;
  const tenant = testTenant(node);
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-recipe-'));
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'dist'));
    program(
      'npx',
      `[ "$1 $2 $3" = "--yes --package a-package" ]
      shift 4
      exec "${process.execPath}" "${SLUICE_COMMAND}" "$@"`,
    );
    program('aws', 'echo "$*" >> "$NOTED"; [ "$FAIL" = "" ]');
    for (const name of ['Notes 1.2.3.AppImage', 'Notes-1.2.3.dmg', 'latest.txt']) {
      writeFileSync(join(folder, 'dist', name), `content of ${name}`);
    }
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Makes a program that the scripts find before any other of its name. */
  function program(name: string, body: string): void {
    const path = join(folder, 'bin', name);
    writeFileSync(path, `#!/usr/bin/env bash\nset -e\n${body}\n`);
    chmodSync(path, 0o755);
  }

  function run(args: readonly string[], env: Readonly<Record<string, string>>) {
    const own = {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      NOTED: join(folder, 'noted'),
      ...{ SLUICE_URL: node.url, SLUICE_KEY: tenant.secret, SLUICE_PACKAGE: 'a-package' },
      APP: tenant.app,
    };
    return new Promise<CommandResult>((resolve) => {
      const options = { cwd: folder, env: { ...own, ...env }, timeout: 120_000 };
      execFile('bash', args, options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
      );
    });
  }

  const releases = () => tenant.releases();
  const noted = () => readFileSync(join(folder, 'noted'), 'utf8').trim().split('\n');

  describe('publish-action', () => {
    const inputs = { CHANNEL: 'stable', TAG: 'v1.2.3', FILES: 'dist/*\n', URL_BASE };

    it('publishes what the patterns name, as the tag says, and once', async () => {
      const first = await run([ACTION], { ...inputs, ROLLOUT: '10', VERSION: '' });
      expect([first.code, first.stderr]).toEqual([0, '']);
      const again = await run([ACTION], { ...inputs, ROLLOUT: '10' });
      expect([again.code, again.stderr]).toEqual([0, '']);
      const [release, ...others] = await releases();
      expect(others).toEqual([]);
      expect(release).toMatchObject({
        ...{ version: '1.2.3', rolloutPct: 10 },
        artifacts: [
          { platform: 'linux', url: `${URL_BASE}/Notes%201.2.3.AppImage` },
          { platform: 'darwin', url: `${URL_BASE}/Notes-1.2.3.dmg` },
        ],
      });
    });

    it('several patterns, a version of its own, notes and a dry run', async () => {
      writeFileSync(join(folder, 'notes.md'), '# What is new\n');
      const FILES = 'dist/*.AppImage\ndist/**/*.dmg\n\n';
      const more = { FILES, VERSION: '2.0.0', NOTES: 'notes.md' };
      const dry = await run([ACTION], { ...inputs, ...more, DRY_RUN: 'true' });
      expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('rehearsed')]);
      expect(await releases()).toEqual([]);
      expect((await run([ACTION], { ...inputs, ...more, DRY_RUN: 'false' })).code).toBe(0);
      expect(await releases()).toMatchObject([{ version: '2.0.0', notes: '# What is new\n' }]);
    });

    it('text of a caller stays text', async () => {
      const FILES = 'dist/*.dmg\n$(touch stolen)\n';
      const TAG = 'v1.0.0;touch stolen';
      const { code, stderr } = await run([ACTION], { ...inputs, FILES, TAG });
      expect([code, stderr]).toEqual([1, 'sluice: no such file: $(touch stolen)\n']);
      const tagged = await run([ACTION], { ...inputs, TAG });
      expect([tagged.code, tagged.stderr]).toEqual([1, expect.stringContaining('version')]);
      expect(() => readFileSync(join(folder, 'stolen'))).toThrow('ENOENT');
    });

    it('ends with the command: a wrong key, and files that differ', async () => {
      const wrong = await run([ACTION], { ...inputs, SLUICE_KEY: 'sluice_wrong' });
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/^sluice: .*\n$/)]);
      await run([ACTION], inputs);
      writeFileSync(join(folder, 'dist', 'Notes-1.2.3.dmg'), 'other content');
      const differs = await run([ACTION], inputs);
      const named = expect.stringContaining('Notes-1.2.3.dmg');
      expect([differs.code, differs.stderr]).toEqual([1, named]);
    });
  });

  describe('s3/publish.sh', () => {
    const env = { BUCKET: 'downloads.example.com', URL_BASE };
    const files = ['dist/Notes 1.2.3.AppImage', 'dist/Notes-1.2.3.dmg', 'dist/latest.txt'];

    it('uploads every file of the release, then publishes to 10 %', async () => {
      mkdirSync(join(folder, 'dist', 'linux-unpacked'));
      const { code, stderr } = await run([S3, '1.2.3', 'dist'], env);
      expect([code, stderr]).toEqual([0, '']);
      expect(noted()).toHaveLength(2);
      expect(noted()[0]).toContain(
        `s3 cp dist/Notes 1.2.3.AppImage s3://downloads.example.com/${tenant.app}/1.2.3/Notes 1.2.3.AppImage`,
      );
      expect(await releases()).toMatchObject([
        {
          ...{ version: '1.2.3', rolloutPct: 10 },
          artifacts: [
            { url: `${URL_BASE}/${tenant.app}/1.2.3/Notes%201.2.3.AppImage` },
            { url: `${URL_BASE}/${tenant.app}/1.2.3/Notes-1.2.3.dmg` },
          ],
        },
      ]);
    });

    it('publishes nothing when an upload fails, and uploads nothing that cannot be published', async () => {
      const failed = await run([S3, '1.2.3', ...files], { ...env, FAIL: 'yes' });
      expect(failed.code).not.toBe(0);
      expect(await releases()).toEqual([]);
      rmSync(join(folder, 'noted'));
      const wrong = await run([S3, 'one', ...files], env);
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('version')]);
      expect(() => noted()).toThrow('ENOENT');
      const usage = await run([S3, '1.2.3'], env);
      expect([usage.code, usage.stderr]).toEqual([2, 'Usage: publish.sh VERSION FILE…\n']);
    });
  });

  it('the scripts of the workflows run, and say what they are meant to', async () => {
    program('gh', 'echo "gh $*" >> "$NOTED"');
    for (const name of ['electron-builder', 'tauri']) {
      const text = readFileSync(join(EXAMPLES, 'github-actions', `${name}.yml`), 'utf8');
      const { jobs } = load(text) as Workflow;
      for (const { run: script } of jobs.publish?.steps ?? []) {
        if (script === undefined) continue;
        const env = { TAG: 'v1.2.3', TARGET: 's3://downloads.example.com/notes/v1.2.3' };
        const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script];
        const { code, stderr } = await run(args, env);
        expect([code, stderr]).toEqual([0, '']);
      }
    }
    expect(noted()).toEqual([
      expect.stringMatching(/^s3 cp files s3:\/\/downloads\S+ --recursive --cache-control public/),
      'gh release download v1.2.3 --dir files',
      'gh release view v1.2.3 --json body --jq .body',
      'gh release edit v1.2.3 --draft=false',
    ]);
  });
});
