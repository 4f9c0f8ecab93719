// Tests the `sluice` command over a node (docs/operating/commands.md): the journeys of publishers and
// operators in the process of the test, each kind of ending once as a script would run it, and the package
// of the command. What a command reads, sends and prints is tested in test/cli.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { BuildFolder } from '../support/build-folder.ts';
import { BUILT, ELECTRON_BUILDER } from '../support/build-folders.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, Person, tokenIn } from '../support/person.ts';
import { suiteTenant } from '../support/service-suite.ts';
import {
  type CommandResult,
  runSluice,
  runSluiceHere,
  SLUICE_COMMAND,
} from '../support/sluice-command.ts';
import type { Json } from '../support/tenant.ts';

const PACKAGE = fileURLToPath(new URL('../../dist/cli-package', import.meta.url));
const URL_BASE = 'https://downloads.example.com/notes';
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ONE_LINE = /^sluice: [^\n]+\n$/;
const NOBODY = { SLUICE_URL: 'http://127.0.0.1:1' };

describeOnBackends('the sluice command', (backend) => {
  const folder = new BuildFolder();
  const node = suiteNode(() => backend.start());
  const tenant = suiteTenant(node);

  /** Runs the command against the node, with the key of the tenant and the admin token. */
  function sluice(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    run = runSluiceHere,
  ): Promise<CommandResult> {
    // Not the default directory: a service started from this checkout may have left its token there.
    const DATA_DIR = join(node.dataDir, 'none');
    const credentials = { ADMIN_TOKEN, SLUICE_KEY: tenant.secret };
    return run(args, { SLUICE_URL: node.url, ...credentials, DATA_DIR, ...env });
  }

  /** Returns the one JSON document that a command prints with --json. */
  async function sluiceJson(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Json> {
    const { code, stdout, stderr } = await sluice([...args, '--json'], env);
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout) as Json;
  }

  /** Expects a command to end so, with nothing on stdout and one line on stderr. */
  function expectEnd({ code, stdout, stderr }: CommandResult, expected: number, reason: RegExp) {
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toMatch(reason);
  }

  const named = (version: string) => [
    ...['--app', tenant.app, '--channel', 'stable', '--version', version],
  ];
  const publish = (paths: readonly string[], version: string, ...more: string[]) => [
    ...['release', 'publish', ...paths, ...named(version), '--url-base', URL_BASE, ...more],
  ];

  it('a build goes to a staged release, once, with a key that may publish alone (Command line)', async () => {
    const limits = ['--name', 'ci', '--may', 'publish', '--apps', tenant.app];
    const key = await sluiceJson(['key', 'create', '--org', tenant.org, ...limits]);
    const ci = { SLUICE_KEY: String(key.secret) };
    const notes = ['--notes', folder.write('notes.md', '# Größer\n')];
    const flags = ['--rollout', '7', '--label', 'ring=a,b', '--label', '__proto__=x', ...notes];
    const args = publish(folder.lay(ELECTRON_BUILDER), `v${BUILT}`, ...flags);
    expect((await sluiceJson(args, ci)).outcome).toBe('published');
    await sluiceJson(['release', 'pause', ...named(BUILT)]);
    const again = { outcome: 'already published', release: { status: 'paused' } };
    expect(await sluiceJson(args, ci)).toMatchObject(again);
    const { release, targets } = await sluiceJson(['release', 'show', ...named(BUILT)]);
    expect(release).toMatchObject({ version: `v${BUILT}`, rolloutPct: 7, notes: '# Größer\n' });
    expect((release as Json).artifacts).toHaveLength(6);
    const { matchLabels } = targets as { matchLabels: object };
    expect(Object.entries(matchLabels).toSorted()).toEqual([
      ['__proto__', ['x']],
      ['ring', ['a', 'b']],
    ]);
    const refused = await sluice(['release', 'resume', ...named(BUILT)], ci);
    expectEnd(refused, 1, /^sluice: This key may not /);
    expectEnd(await sluice(args, { SLUICE_KEY: 'sluice_wrong' }), 1, /^sluice: Invalid or revoked/);
  });

  it('devices purge takes a version in any spelling, and with --dry-run deletes none (Command line)', async () => {
    const of = (deviceId: string, version: string) => ({ deviceId, version, platform: 'linux' });
    await tenant.report([of('a', '6.6.6'), of('b', '6.6.6'), of('real', '1.0.0')]);
    const purge = ['devices', 'purge', '--app', tenant.app, '--first-seen-after'];
    const since = [...purge, '2020-01-01T00:00:00Z', '--version', 'v6.6.6'];
    expect(await sluiceJson([...since, '--dry-run'])).toEqual({ devices: 2 });
    expect(await sluiceJson(since)).toEqual({ devices: 2 });
    const left = await sluiceJson(['devices', '--app', tenant.app]);
    expect(left.devices).toMatchObject([{ deviceId: 'real' }]);
    const words = /^sluice: firstSeenAfter: Must be an RFC 3339 time\n$/;
    expectEnd(await sluice([...purge, 'yesterday']), 1, words);
  });

  it('account reset-password: a link that sets a new password, and is nowhere else (Command line)', async () => {
    const { email } = await member(node, tenant.org, 'viewer');
    const made = await sluiceJson(['account', 'reset-password', email]);
    expect(made).toEqual({
      url: expect.stringMatching(new RegExp(`^${node.url}/console/password-reset/`)),
      expiresAt: expect.stringMatching(TIMESTAMP),
    });
    const body = { token: tokenIn(made.url), password: 'a new and long password' };
    expect((await new Person(node).call('POST', 'password-reset', body)).status).toBe(200);
    const told = JSON.stringify(await tenant.audit()) + node.output();
    expect(told).not.toContain(body.token);
  });

  it('a script sees 1 for a refusal and 2 for wrong usage, each with one line on stderr (Command line)', async () => {
    const create = ['app', 'create', '--org', tenant.org, '--ref', tenant.app, '--name', 'A'];
    expectEnd(await sluice(create, {}, runSluice), 1, /already exists/);
    expectEnd(await sluice(create, { ADMIN_TOKEN: 'x' }), 1, /^sluice: Invalid admin token\n$/);
    expectEnd(await sluice(['orgg'], NOBODY, runSluice), 2, /orgg/);
    for (const args of [[], ['org']]) {
      const { code, stdout, stderr } = await sluice(args, {}, runSluice);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^Usage: /);
    }
  });

  it('--version and --help need no service (Command line)', async () => {
    const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
    const stdout = expect.stringMatching(`^${version} \\((unknown|[0-9a-f]{12}(-dirty)?)\\)\\n$`);
    const answer = await sluice(['--version'], NOBODY, runSluice);
    expect(answer).toEqual({ code: 0, stdout, stderr: '' });
    const help = await sluice(['--help'], NOBODY, runSluice);
    expect(help.code).toBe(0);
    for (const name of ['serve', 'org', 'app', 'channel', 'key', 'audit'])
      expect(help.stdout).toContain(`\n  ${name} `);
  });

  it('a reader that has read enough, such as head, is no error (Command line)', async () => {
    const child = spawn(process.execPath, [SLUICE_COMMAND, '--help'], { stdio: 'pipe' });
    // Before the command has begun, so that its first line already finds nobody.
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (part: Buffer) => {
      stderr += part.toString();
    });
    const [code] = await once(child, 'close');
    expect([code, stderr]).toEqual([0, '']);
  });

  it('the package of the command is installed from its file alone, without a registry, and publishes (Command line)', async () => {
    const { path } = folder;
    const env = { PATH: process.env.PATH, HOME: path, SLUICE_URL: node.url };
    const run = async (file: string, ...args: string[]) => {
      const options = { env: { ...env, SLUICE_KEY: tenant.secret }, cwd: path };
      return (await promisify(execFile)(file, args, options)).stdout;
    };
    const quiet = ['--silent', '--cache', join(path, 'cache')];
    const packed = await run('npm', 'pack', ...quiet, PACKAGE);
    expect(packed).toMatch(/^sluice-cli-\d+\.\d+\.\d+\.tgz\n$/);
    const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ engines: { node: '>=20.19' } });
    const [home, file] = [join(path, 'home'), join(path, packed.trim())];
    await run('npm', 'install', ...quiet, '--offline', '--global', '--prefix', home, file);
    const command = join(home, 'bin', 'sluice');
    expect(await run(command, '--version')).toMatch(/^\d+\.\d+\.\d+ \(\S+\)\n$/);
    expect(await run(command, '--help')).toContain('\n  release ');
    const args = publish([folder.write('b-linux.zip')], '1.2.3');
    expect(await run(command, ...args)).toContain('published: ');
    await expect(run(command, 'doctor')).rejects.toThrow(
      /^sluice: doctor reads the settings of the service: run it where Sluice is installed, node dist/m,
    );
    const licences = readFileSync(join(PACKAGE, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(licences.match(/^(?:commander|js-yaml|xmlbuilder2|zod)$/gm)).toHaveLength(4);
  });
});
