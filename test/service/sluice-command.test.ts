// Tests the `sluice` command over a node (docs/operating/commands.md): the journeys of publishers and operators
// in the process of the test, each kind of ending once as a script would run it, and the package of the command.
// What a command reads, sends and prints is tested in test/cli.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { BuildFolder } from '../support/build-folder.ts';
import { BUILT, ELECTRON_BUILDER } from '../support/build-folders.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, Person, tokenIn } from '../support/person.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import {
  type CommandResult,
  runSluice,
  runSluiceHere,
  SLUICE_COMMAND,
} from '../support/sluice-command.ts';
import {
  check,
  createTenant,
  devicesOf,
  manage,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const PACKAGE = fileURLToPath(new URL('../../dist/cli-package', import.meta.url));
const URL_BASE = 'https://downloads.example.com/notes';
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ONE_LINE = /^sluice: [^\n]+\n$/;
const NOBODY = { SLUICE_URL: 'http://127.0.0.1:1' };

describeOnBackends('the sluice command', (backend) => {
  const folder = new BuildFolder();
  let node: ServingNode;
  let tenant: Tenant;
  beforeAll(async () => {
    node = await backend.start();
    tenant = await createTenant(node);
  });
  afterAll(() => node?.dispose());

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

  const newApp = async (...more: string[]) => {
    const ref = `app-${randomId()}`;
    const args = ['app', 'create', '--org', tenant.org, '--ref', ref, '--name', 'My app', ...more];
    return { ref, created: await sluiceJson(args) };
  };
  const named = (app: string, version: string, channel = 'stable') => [
    ...['--app', app, '--channel', channel, '--version', version],
  ];
  const publish = (paths: readonly string[], app: string, version: string, ...more: string[]) => [
    ...['release', 'publish', ...paths, ...named(app, version), '--url-base', URL_BASE, ...more],
  ];

  it('a build goes to a staged release, once, with a key that may publish alone (Command line)', async () => {
    const { ref } = await newApp();
    const limits = ['--name', 'ci', '--may', 'publish', '--apps', ref];
    const key = await sluiceJson(['key', 'create', '--org', tenant.org, ...limits]);
    const ci = { SLUICE_KEY: String(key.secret) };
    const notes = ['--notes', folder.write('notes.md', '\uFEFF# Größer\n')];
    const flags = ['--rollout', '7', '--label', 'ring=a,b', '--label', '__proto__=x', ...notes];
    const args = publish(folder.lay(ELECTRON_BUILDER), ref, `v${BUILT}`, ...flags);
    expect((await sluiceJson(args, ci)).outcome).toBe('published');
    await sluiceJson(['release', 'pause', ...named(ref, BUILT)]);
    const again = { outcome: 'already published', release: { status: 'paused' } };
    expect(await sluiceJson(args, ci)).toMatchObject(again);
    const [release, ...others] = await releasesOf(node, tenant, `app=${ref}`);
    expect(others).toEqual([]);
    expect(release).toMatchObject({ version: `v${BUILT}`, rolloutPct: 7, notes: '# Größer\n' });
    expect(release?.artifacts).toHaveLength(6);
    const { targets } = await sluiceJson(['release', 'show', ...named(ref, BUILT)]);
    const { matchLabels } = targets as { matchLabels: object };
    expect(Object.entries(matchLabels).toSorted()).toEqual([
      ['__proto__', ['x']],
      ['ring', ['a', 'b']],
    ]);
    const refused = await sluice(['release', 'resume', ...named(ref, BUILT)], ci);
    expectEnd(refused, 1, /^sluice: This key may not /);
    const wrong = await sluice(args, { SLUICE_KEY: 'sluice_wrong' });
    expectEnd(wrong, 1, /^sluice: Invalid or revoked API key\n$/);
  });

  it('without --label a release is for every device, and people can download it (Command line, §22)', async () => {
    const { ref } = await newApp();
    await sluiceJson(publish([folder.write('Notes-1.2.3.msi')], ref, '1.2.3'));
    const shown = await sluiceJson(['release', 'show', ...named(ref, '1.2.3')]);
    expect(shown).toMatchObject({ release: { rolloutPct: 100 }, targets: null });
    const download = `${node.url}/download/${ref}/stable/windows`;
    const { status, headers } = await fetch(download, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, `${URL_BASE}/Notes-1.2.3.msi`]);
  });

  it('a release is steered, with a reason for the audit, and explained (Command line)', async () => {
    const { ref } = await newApp();
    await sluiceJson(publish([folder.write('a-linux.zip')], ref, '1.2.3', '--rollout', '0'));
    const device = { deviceId: 'd 1', version: '1.0.0', platform: 'linux' };
    await report(node, { ...tenant, app: ref }, [device]);
    const explained = await sluice(['explain', '--app', ref, '--device', 'd 1']);
    expect(explained.stdout).toMatch(/^outside-cohort: nothing$/m);
    expect(explained.stdout).toMatch(/^1\.2\.3 +stable +outside-cohort +\d+ +0/m);
    const steer = async (...args: string[]) => {
      const { release } = await sluiceJson(['release', ...args, ...named(ref, '1.2.3')]);
      const { rolloutPct, status } = release as Json;
      return [rolloutPct, status];
    };
    expect(await steer('rollout', '40')).toEqual([40, 'published']);
    expect(await steer('pause', '--reason', 'too many crashes')).toEqual([40, 'paused']);
    const audit = await sluiceJson(['audit', '--org', tenant.org, '--limit', '2']);
    expect(audit.entries).toMatchObject([{ reason: 'too many crashes' }, { reason: null }]);
    const [entry = {}] = audit.entries as [Json];
    const fields = 'action actor after at before reason requestId subject';
    expect(Object.keys(entry).sort().join(' ')).toBe(fields);
    expect([entry.subject, entry.at]).toEqual([
      ...[`${ref}/stable@1.2.3`, expect.stringMatching(TIMESTAMP)],
    ]);
    expect(await steer('resume', '--dry-run')).toEqual([40, 'published']);
    expect((await check(node, { app: ref }, '1.0.0')).status).toBe(204);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('deprecate')).toEqual([40, 'deprecated']);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('rollback')).toEqual([40, 'rolled_back']);
  });

  it('promote, list, show and withdraw (Command line)', async () => {
    const { ref } = await newApp();
    await sluiceJson(publish([folder.write('a-linux.zip')], ref, '1.2.3'));
    const moved = ['--app', ref, '--from', 'stable', '--to', 'beta', '--version', '1.2.3'];
    expect(await sluiceJson(['release', 'promote', ...moved, '--paused'])).toMatchObject({
      release: { channel: 'beta', status: 'paused' },
    });
    const listed = await sluice(['release', 'list', '--app', ref]);
    const rows = listed.stdout.trimEnd().split('\n').slice(1);
    expect(rows.map((row) => row.split(/ {2,}/)[3])).toEqual(['paused', 'serving']);
    const shown = await sluice(['release', 'show', ...named(ref, '1.2.3')]);
    expect(shown.stdout).toMatch(/^release: \S+ 1\.2\.3 on stable$/m);
    expect(shown.stdout).toMatch(/^rollout: 100 %\ntargets: every device\n/m);
    expect(shown.stdout).toMatch(
      /^FILE +PLATFORM +ARCH +FORMAT +SIGNED +SIZE +ADDRESS\na-linux\.zip/m,
    );
    const onBeta = named(ref, '1.2.3', 'beta');
    const { release } = await sluiceJson(['release', 'withdraw', ...onBeta]);
    expect(release).toMatchObject({ channel: 'beta', version: '1.2.3' });
    const gone = await sluice(['release', 'show', ...onBeta]);
    expectEnd(gone, 1, /^sluice: Unknown release "1\.2\.3" on beta: there is none\n$/);
    expect(await sluiceJson(['release', 'list', '--app', ref])).toMatchObject({ total: 1 });
  });

  it('devices find apps and channels as soon as they are created (Command line)', async () => {
    const statusOf = async (ref: string, channel: string) =>
      (await send(node, 'GET', `/u/${ref}/${channel}/a/b/1`)).status;
    const usual = await newApp();
    const more = { id: expect.stringMatching(/^app_/), channels: ['stable', 'beta'] };
    expect(usual.created).toMatchObject({ ref: usual.ref, name: 'My app', ...more });
    expect(await statusOf(usual.ref, 'beta')).toBe(204);
    const { ref, created } = await newApp('--channels', 'nightly, stable');
    expect(created.channels).toEqual(['nightly', 'stable']);
    expect([await statusOf(ref, 'nightly'), await statusOf(ref, 'beta')]).toEqual([204, 404]);
    const channel = ['--app', ref, '--name', 'beta'];
    expect(await sluiceJson(['channel', 'create', ...channel])).toMatchObject({ name: 'beta' });
    expect(await statusOf(ref, 'beta')).toBe(204);
    const options = ['--default-rollout=7', '--follows=stable', '--minimum-supported-version=v3'];
    expect(await sluiceJson(['channel', 'update', ...channel, ...options])).toEqual({
      ...{ app: ref, name: 'beta', minimumSupportedVersion: 'v3', defaultRollout: 7 },
      ...{ updateMode: 'optional', requireSignature: false, follows: 'stable' },
      ...{ approvals: 'none', approvalDays: 7 },
    });
    const approved = await sluice(['channel', 'update', ...channel, '--approvals', 'one']);
    expect(approved.stdout).toMatch(/^warning: follows: stable asks for no/m);
  });

  it('devices purge: how many, with --dry-run none is deleted, and the audit tells (Command line)', async () => {
    const { ref } = await newApp();
    const app = { ...tenant, app: ref };
    const reported = (ids: readonly string[], version: string) =>
      report(
        node,
        app,
        ids.map((deviceId) => ({ deviceId, version, platform: 'linux' })),
      );
    await reported(['real'], '1.0.0');
    const since = String((await devicesOf(node, app))[0]?.firstSeen);
    await reported(['a', 'b', 'c'], '6.6.6');
    await reported(['d'], '1.0.0');
    const purge = (...more: string[]) =>
      sluiceJson(['devices', 'purge', '--app', ref, '--first-seen-after', since, ...more]);
    expect(await purge('--dry-run')).toEqual({ devices: 4 });
    expect(await devicesOf(node, app)).toHaveLength(5);
    expect(await purge('--version', 'v6.6.6')).toEqual({ devices: 3 });
    expect([await purge(), await purge()]).toEqual([{ devices: 1 }, { devices: 0 }]);
    const left = await sluiceJson(['devices', '--app', ref]);
    expect(left.devices).toMatchObject([{ deviceId: 'real' }]);
    const entries = await auditOf(node, tenant, 'action=device.purge');
    expect(entries.map(({ subject, after }) => [subject, after])).toEqual([
      [ref, { firstSeenAfter: since, version: null, devices: 1 }],
      [ref, { firstSeenAfter: since, version: '6.6.6', devices: 3 }],
    ]);
    const never = ['devices', 'purge', '--app', ref, '--first-seen-after', 'yesterday'];
    const words = /^sluice: firstSeenAfter: Must be an RFC 3339 time\n$/;
    expectEnd(await sluice(never), 1, words);
  });

  it('key create and revoke: a secret that works until then, and is nowhere else (Command line, 5)', async () => {
    const create = ['key', 'create', '--org', tenant.org, '--name', 'release bot'];
    const [key, other] = [await sluiceJson(create), await sluiceJson(create)];
    expect(Object.keys(key).sort()).toEqual(['id', 'name', 'prefix', 'secret']);
    expect([other.id === key.id, other.secret === key.secret]).toEqual([false, false]);
    const [secret, prefix] = [String(key.secret), String(key.prefix)];
    expect(secret.startsWith(prefix)).toBe(true);
    expect((await manage(node, { secret }, 'GET', 'apps')).status).toBe(200);
    const random = secret.slice(prefix.length + 1);
    expect(JSON.stringify(await auditOf(node, tenant)) + node.output()).not.toContain(random);
    const revoked = await sluiceJson(['key', 'revoke', String(key.id)]);
    expect(revoked).toEqual({ id: key.id, revokedAt: expect.stringMatching(TIMESTAMP) });
    for (const method of ['GET', 'POST', 'PATCH']) {
      const { status, body } = await manage(node, { secret }, method, 'releases');
      expect([status, body]).toEqual([401, { error: 'Invalid or revoked API key' }]);
    }
    expect(await sluiceJson(['key', 'revoke', String(key.id)])).toEqual(revoked);
    expect(await auditOf(node, tenant, 'action=key.revoke')).toHaveLength(1);
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
    const told = JSON.stringify(await auditOf(node, tenant)) + node.output();
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
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text) as { version: string };
    const answer = await sluice(['--version'], NOBODY, runSluice);
    const stdout = expect.stringMatching(/^\S+ \((unknown|[0-9a-f]{12}(-dirty)?)\)\n$/);
    expect(answer).toEqual({ code: 0, stdout, stderr: '' });
    expect(answer.stdout.split(' ')[0]).toBe(version);
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
    const args = publish([folder.write('a-linux.zip')], tenant.app, '1.2.3');
    expect(await run(command, ...args)).toContain('published: ');
    await expect(run(command, 'doctor')).rejects.toThrow(
      /^sluice: doctor reads the settings of the service: run it where Sluice is installed, node dist/m,
    );
    const licences = readFileSync(join(PACKAGE, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(licences.match(/^(?:commander|js-yaml|xmlbuilder2|zod)$/gm)).toHaveLength(4);
  });
});
