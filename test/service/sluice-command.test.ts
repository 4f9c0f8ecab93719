// Tests the `sluice` command (docs/operating/commands.md): mostly in the process of the test, and each
// kind of ending once as a script would run it.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, Person, tokenIn } from '../support/person.ts';
import { auditOf, type Json } from '../support/published.ts';
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
  publish,
  randomId,
  report,
  send,
} from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ONE_LINE = /^sluice: [^\n]+\n$/;
const ESCAPE = '\u001b';

describeOnBackends('the sluice command', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  /** Runs the command against the node. */
  function sluice(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    run = runSluiceHere,
  ): Promise<CommandResult> {
    // Not the default directory: a service started from this checkout may have left its token there.
    const DATA_DIR = join(node.dataDir, 'none');
    return run(args, { SLUICE_URL: node.url, ADMIN_TOKEN, DATA_DIR, ...env });
  }

  /** Returns the one JSON document that a command prints with --json. */
  async function sluiceJson(...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await sluice([...args, '--json']);
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout) as Json;
  }

  const audit = (org: string) => auditOf(node, { org });

  /** Expects a command to end so, with nothing on stdout and one line on stderr. */
  function expectEnd(
    result: CommandResult,
    code: number,
    reason: RegExp | string,
    what = '',
  ): void {
    expect([result.code, result.stdout], what).toEqual([code, '']);
    expect(result.stderr, what).toMatch(ONE_LINE);
    expect(result.stderr, what).toMatch(reason);
  }

  it('--version: the version of the package and its commit, without a service (Command line)', async () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string };
    const env = { SLUICE_URL: 'http://127.0.0.1:1' };
    const answer = await sluice(['--version'], env, runSluice);
    const stdout = expect.stringMatching(/^\S+ \((unknown|[0-9a-f]{12}(-dirty)?)\)\n$/);
    expect(answer).toEqual({ code: 0, stdout, stderr: '' });
    expect(answer.stdout.split(' ')[0]).toBe(version);
  });

  it('org create: id and name, which cannot steer the terminal (Command line)', async () => {
    const org = await sluiceJson('org', 'create', '--name', 'Größe & Söhne');
    expect(org).toMatchObject({ id: expect.stringMatching(/^org_/), name: 'Größe & Söhne' });
    const name = `${ESCAPE}[31mred${ESCAPE}]0;title\u0007\u009b2J`;
    const { stdout } = await sluice(['org', 'create', '--name', name]);
    expect(stdout).toMatch(/red/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it('what strangers call themselves is shown escaped, in every form of the answer (Command line)', async () => {
    const tenant = await createTenant(node);
    const [platform, device] = ['lin\u202eux', 'a\u0085b\u2066'];
    await check(node, tenant, '1.0.0', {
      platform,
      query: `device=${encodeURIComponent(device)}`,
    });
    await eventually(
      'the device is on record',
      async () => (await devicesOf(node, tenant)).length > 0,
    );
    const args = ['devices', '--app', tenant.app];
    const { stdout } = await sluice(args);
    expect(stdout).toMatch(/^a\\u0085b\\u2066 .* lin\\u202eux\/x86_64 /m);
    const json = await sluice([...args, '--json']);
    expect(json.stdout).toContain('"platform":"lin\\u202eux"');
    expect(JSON.parse(json.stdout)).toMatchObject({ devices: [{ platform, deviceId: device }] });
    const key = { SLUICE_KEY: tenant.secret };
    const named = ['--app', tenant.app, '--channel', 'stable', '--version', '1.0.0'];
    const missing = await sluice(['release', 'publish', 'x\u202e.exe', ...named], key);
    expectEnd(missing, 1, /no such file: x\\u202e\.exe/);
  });

  it('app create: id, ref, name and the channels stable and beta, or those of --channels (Command line)', async () => {
    const { org } = await createTenant(node);
    const create = (ref: string, ...more: string[]) =>
      sluiceJson('app', 'create', '--org', org, '--ref', ref, '--name', 'My app', ...more);
    const statusOf = async (ref: string, channel: string) =>
      (await send(node, 'GET', `/u/${ref}/${channel}/a/b/1`)).status;
    const usual = `app-${randomId()}`;
    const app = await create(usual);
    expect(app).toMatchObject({ ref: usual, name: 'My app', channels: ['stable', 'beta'] });
    expect(app.id).toMatch(/^app_/);
    expect([await statusOf(usual, 'stable'), await statusOf(usual, 'beta')]).toEqual([204, 204]);
    const other = `app-${randomId()}`;
    const { channels } = await create(other, '--channels', 'nightly, stable');
    expect(channels).toEqual(['nightly', 'stable']);
    expect(await statusOf(other, 'beta')).toBe(404);
  });

  it('devices purge: how many, with --dry-run none is deleted, and the audit tells (Command line)', async () => {
    const tenant = await createTenant(node);
    const { app, org } = tenant;
    const reportOf = (ids: readonly string[], version: string) =>
      report(
        node,
        tenant,
        ids.map((deviceId) => ({ deviceId, version, platform: 'linux' })),
      );
    await reportOf(['real'], '1.0.0');
    const since = String((await devicesOf(node, tenant))[0]?.firstSeen);
    await reportOf(['a', 'b', 'c'], '6.6.6');
    await reportOf(['d'], '1.0.0');
    const purge = (...more: string[]) =>
      sluiceJson('devices', 'purge', '--app', app, '--first-seen-after', since, ...more);
    expect(await purge('--dry-run')).toEqual({ devices: 4 });
    expect(await purge('--version', 'v6.6.6', '--dry-run')).toEqual({ devices: 3 });
    expect(await devicesOf(node, tenant)).toHaveLength(5);
    expect(await purge('--version', 'v6.6.6')).toEqual({ devices: 3 });
    expect(await purge()).toEqual({ devices: 1 });
    expect(await purge()).toEqual({ devices: 0 });
    const left = await sluiceJson('devices', '--app', app);
    expect((left.devices as Json[]).map(({ deviceId }) => deviceId)).toEqual(['real']);
    const entries = (await audit(org)).filter(({ action }) => action === 'device.purge');
    expect(entries.map(({ subject, after }) => [subject, after])).toEqual([
      [app, { firstSeenAfter: since, version: null, devices: 1 }],
      [app, { firstSeenAfter: since, version: '6.6.6', devices: 3 }],
    ]);
  });

  it('devices purge: a time that is none is refused by its name (Command line)', async () => {
    const { app } = await createTenant(node);
    const time = ['--first-seen-after', 'yesterday'];
    const refused = await sluice(['devices', 'purge', '--app', app, ...time]);
    expectEnd(refused, 1, /^sluice: firstSeenAfter: Must be an RFC 3339 time\n$/);
  });

  it('channel create: app and name, and devices find it at once (Command line)', async () => {
    const { app } = await createTenant(node);
    expect((await send(node, 'GET', `/u/${app}/nightly/a/b/1`)).status).toBe(404);
    const channel = await sluiceJson('channel', 'create', '--app', app, '--name', 'nightly');
    expect(channel).toMatchObject({ app, name: 'nightly' });
    expect((await send(node, 'GET', `/u/${app}/nightly/a/b/1`)).status).toBe(204);
  });

  it('channel update: each option changes its field and leaves the others, "" clears the minimum (Command line)', async () => {
    const { app } = await createTenant(node);
    const update = (...options: string[]) =>
      sluiceJson('channel', 'update', '--app', app, '--name', 'beta', ...options);
    const state = {
      ...{ app, name: 'beta', minimumSupportedVersion: null, defaultRollout: 100 },
      ...{ updateMode: 'optional', requireSignature: false, follows: null },
      ...{ approvals: 'none', approvalDays: 7 },
    };
    const steps: [option: string, value: string, change: Json][] = [
      ['--minimum-supported-version', '1.2', { minimumSupportedVersion: '1.2' }],
      ['--default-rollout', '0', { defaultRollout: 0 }],
      ['--update-mode', 'recommended', { updateMode: 'recommended' }],
      ['--require-signature', 'true', { requireSignature: true }],
      ['--default-rollout', '25', { defaultRollout: 25 }],
      ['--require-signature', 'false', { requireSignature: false }],
      ['--minimum-supported-version', '', { minimumSupportedVersion: null }],
      ['--update-mode', 'optional', { updateMode: 'optional' }],
      ['--follows', 'stable', { follows: 'stable' }],
      ['--follows', 'none', { follows: null }],
    ];
    for (const [option, value, change] of steps) {
      Object.assign(state, change);
      expect(await update(option, value)).toEqual(state);
    }
    const all = ['--minimum-supported-version=v3', '--default-rollout=7'];
    expect(await update(...all, '--update-mode=recommended')).toEqual({
      ...state,
      ...{ minimumSupportedVersion: 'v3', defaultRollout: 7, updateMode: 'recommended' },
    });
  });

  it('channel update: a channel without approvals that one with approvals follows is named (§33.12)', async () => {
    const { app } = await createTenant(node);
    const update = (...options: string[]) =>
      sluice(['channel', 'update', '--app', app, '--name', 'stable', ...options]);
    expect((await update('--follows', 'beta')).stdout).not.toContain('warning');
    const { code, stdout } = await update('--approvals', 'one');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^approvals: one\napprovalDays: 7\nwarning: follows: beta asks for no/m);
    const answer = await sluiceJson(
      ...['channel', 'update', '--app', app, '--name', 'stable', '--approval-days', '3'],
    );
    expect(answer).toMatchObject({ findings: [{ path: 'follows', severity: 'warning' }] });
  });

  it('key create: id, name, prefix and a secret that works; the secret is nowhere else (Command line, 5)', async () => {
    const { org, app } = await createTenant(node);
    const key = await sluiceJson('key', 'create', '--org', org, '--name', 'release bot');
    expect(Object.keys(key).sort()).toEqual(['id', 'name', 'prefix', 'secret']);
    const secret = String(key.secret);
    expect(secret.startsWith(String(key.prefix))).toBe(true);
    const apps = await manage(node, { secret }, 'GET', 'apps');
    expect(apps.body?.apps).toMatchObject([{ ref: app }]);
    const again = await sluiceJson('key', 'create', '--org', org, '--name', 'release bot');
    expect([again.id === key.id, again.secret === key.secret]).toEqual([false, false]);
    const random = secret.slice(String(key.prefix).length + 1);
    expect(JSON.stringify(await audit(org))).not.toContain(random);
    expect(node.output()).not.toContain(random);
  });

  it('key revoke: id and revokedAt, and the key is refused at once; again gives the same time (Command line, 5)', async () => {
    const tenant = await createTenant(node);
    expect((await manage(node, tenant, 'GET', 'apps')).status).toBe(200);
    const revoked = await sluiceJson('key', 'revoke', tenant.keyId);
    expect(revoked).toEqual({ id: tenant.keyId, revokedAt: expect.stringMatching(TIMESTAMP) });
    for (const [method, path] of [
      ['GET', 'apps'],
      ['GET', 'releases'],
      ['POST', 'releases'],
      ['PATCH', 'releases'],
    ] as const) {
      const answer = await manage(node, tenant, method, path);
      expect([answer.status, answer.body]).toEqual([401, { error: 'Invalid or revoked API key' }]);
    }
    expect(await sluiceJson('key', 'revoke', tenant.keyId)).toEqual(revoked);
    const revocations = (await audit(tenant.org)).filter(({ action }) => action === 'key.revoke');
    expect(revocations).toHaveLength(1);
  });

  it('account reset-password: url and expiresAt, and the link sets a new password (Command line)', async () => {
    const { org } = await createTenant(node);
    const person = await member(node, org, 'viewer');
    const made = await sluiceJson('account', 'reset-password', person.email);
    expect(Object.keys(made)).toEqual(['url', 'expiresAt']);
    expect(made.expiresAt).toMatch(TIMESTAMP);
    expect(String(made.url).startsWith(`${node.url}/console/password-reset/`)).toBe(true);
    const body = { token: tokenIn(made.url), password: 'a new and long password' };
    expect((await new Person(node).call('POST', 'password-reset', body)).status).toBe(200);
    expect(JSON.stringify(await audit(org))).not.toContain(body.token);
    expect(node.output()).not.toContain(body.token);
  });

  it('audit: entries with exactly the listed fields, newest first, as many as asked for (Command line)', async () => {
    const tenant = await createTenant(node);
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publish(node, tenant, version);
    const { entries } = (await sluiceJson('audit', '--org', tenant.org)) as { entries: Json[] };
    expect(entries.map(({ subject }) => subject).slice(0, 3)).toEqual(
      ['1.2.0', '1.1.0', '1.0.0'].map((version) => `${tenant.app}/stable@${version}`),
    );
    for (const entry of entries) {
      const fields = 'action actor after at before reason requestId subject';
      expect(Object.keys(entry).sort().join(' ')).toBe(fields);
      expect(entry.at).toMatch(TIMESTAMP);
    }
    const two = await sluiceJson('audit', '--org', tenant.org, '--limit', '2');
    expect(two.entries).toEqual(entries.slice(0, 2));
  });

  it('without --json it prints readable lines, one per field (Command line)', async () => {
    const org = await sluice(['org', 'create', '--name', 'Readable']);
    expect(org.stdout).toMatch(/^id: org_\w+\nname: Readable\n$/);
  });

  it('audit without --json: a line for each entry, with what it changed (Command line)', async () => {
    const tenant = await createTenant(node);
    const update = ['channel', 'update', '--app', tenant.app, '--name', 'beta'];
    await sluiceJson(...update, '--default-rollout', '7');
    const { stdout } = await sluice(['audit', '--org', tenant.org]);
    const [head, first, ...others] = stdout.trimEnd().split('\n');
    expect(head?.split(/ {2,}/)).toEqual(['AT', 'WHO', 'WHAT', 'OF', 'CHANGE', 'REASON']);
    expect(first?.split(/ {2,}/).slice(1)).toEqual([
      ...['admin-token', 'channel.update', `${tenant.app}/beta`],
      ...['defaultRollout: 100 -> 7', '-'],
    ]);
    expect(others).toHaveLength((await audit(tenant.org)).length - 1);
    expect(others[0]).toMatch(/ key\.create .* name: ci, prefix: /);
  });

  it('lists of pages end in the command for the next page, which works (Command line)', async () => {
    const tenant = await createTenant(node);
    const { app, org } = tenant;
    const devices = ['a', "b's own", '-c', 'd'].map((deviceId) => ({
      ...{ deviceId, version: '1.0.0', platform: 'linux' },
    }));
    await report(node, tenant, devices);
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publish(node, tenant, version);
    const key = { SLUICE_KEY: tenant.secret };
    const lists: [args: string[], rows: number][] = [
      [['devices', '--app', app, '--limit', '1'], 4],
      [['audit', '--org', org, '--limit', '2'], (await audit(org)).length],
      [['release', 'list', '--app', app, '--per-page', '2'], 3],
    ];
    for (const [first, rows] of lists) {
      const seen: string[] = [];
      for (let args: readonly string[] = first; args.length > 0; ) {
        const { code, stdout, stderr } = await sluice(args, key);
        expect([code, stderr], args.join(' ')).toEqual([0, '']);
        const [, ...lines] = stdout.trimEnd().split('\n');
        const [, next] = /^… more: sluice (.*)$/m.exec(stdout) ?? [];
        seen.push(...lines.filter((line) => !/^…|^\d+ of \d+$/.test(line)));
        args = next === undefined ? [] : wordsOf(next);
      }
      expect([first[0], new Set(seen).size, seen.length]).toEqual([first[0], rows, rows]);
    }
  });

  it('a refusal is one line on stderr and exit 1, with nothing on stdout (Command line)', async () => {
    const { org, app } = await createTenant(node);
    const create = (of: string, ref: string, ...more: string[]) => [
      ...['app', 'create', '--org', of, '--ref', ref, '--name', 'A', ...more],
    ];
    const update = (name: string, ...more: string[]) => [
      ...['channel', 'update', '--app', app, '--name', name, ...more],
    ];
    const cases: [args: string[], reason: RegExp][] = [
      [create('org_none', `r-${randomId()}`), /Unknown organization/],
      [create(org, app), /already exists/],
      [create(org, 'with space'), /ref: /],
      [create(org, 'r', '--channels', ''), /channels\.0: /],
      [['channel', 'create', '--app', app, '--name', 'stable'], /already exists/],
      [
        ['channel', 'create', '--app', 'no-such-app', '--name', 'x'],
        /Unknown app "no-such-app": there (?:are|is) [\w-]+/,
      ],
      [update('nope', '--default-rollout', '5'), new RegExp(`"nope": ${app} has beta, stable`)],
      [update('stable'), /is required/],
      [update('stable', '--default-rollout', '101'), /defaultRollout: /],
      [update('stable', '--minimum-supported-version', 'x'), /Invalid version/],
      [['key', 'create', '--org', 'org_none', '--name', 'k'], /Unknown organization/],
      [['key', 'create', '--org', org, '--name', ''], /name: Must not be empty/],
      [['key', 'revoke', 'key_none'], /Unknown API key/],
      [['key', 'revoke', '../apps'], /Unknown API key/],
      [['account', 'reset-password', 'nobody@example.com'], /Unknown account/],
      [['account', 'reset-password', 'nobody'], /email: Must be an email address/],
      [['audit', '--org', 'org_none'], /Unknown organization/],
      [['audit', '--org', org, '--limit', '0'], /limit: /],
    ];
    for (const [args, reason] of cases) {
      expectEnd(await sluice([...args, '--json']), 1, reason, args.join(' '));
    }
    // As a script sees it.
    expectEnd(await sluice(create(org, app), {}, runSluice), 1, /already exists/);
  });

  it('wrong usage is one line on stderr and exit 2, and asks nothing of the service (Command line)', async () => {
    const nobody = { SLUICE_URL: 'http://127.0.0.1:1' };
    const update = ['channel', 'update', '--app', 'a', '--name', 'n'];
    const wrong: [args: string[], reason: string][] = [
      [['org', 'create'], '--name'],
      [['org', 'create', '--name'], '--name'],
      [['org', 'create', '--name', 'a', 'b'], 'argument'],
      [['org', 'create', '--nmae', 'a'], '--name'],
      [['orgg'], 'orgg'],
      [['org', 'delete'], 'delete'],
      [['key', 'revoke'], 'argument'],
      [['account', 'reset-password'], 'argument'],
      [['app', 'create', '--org', 'o', '--ref', 'r'], '--name'],
      [['audit', '--org', 'o', '--limit', 'many'], '--limit'],
      [['devices', 'purge', '--app', 'a'], '--first-seen-after'],
      [['devices', 'purge', '--first-seen-after', '2026-01-01T00:00:00Z'], '--app'],
      [['devices'], '--app'],
      [[...update, '--default-rollout', '-1'], '--default-rollout'],
      [[...update, '--default-rollout', '5.5'], '--default-rollout'],
      [[...update, '--update-mode', 'required'], '--update-mode'],
    ];
    for (const [args, reason] of wrong) {
      expectEnd(await sluice(args, nobody), 2, reason, args.join(' '));
    }
    // As a script sees it.
    expectEnd(await sluice(['orgg'], nobody, runSluice), 2, 'orgg');
    for (const args of [[], ['org']]) {
      const { code, stdout, stderr } = await sluice(args, {}, runSluice);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^Usage: /);
    }
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

  it('--help is no error and names every command of its level (Command line)', async () => {
    const { code, stdout } = await sluice(['--help'], {}, runSluice);
    expect(code).toBe(0);
    for (const name of ['serve', 'org', 'app', 'channel', 'key', 'audit'])
      expect(stdout).toContain(`\n  ${name} `);
  });

  it('--help of a command marks what is required, and has defaults, environment and an example (Command line)', async () => {
    const { code, stdout } = await sluice(['release', 'publish', '--help']);
    expect(code).toBe(0);
    const words = stdout.replace(/\s+/g, ' ');
    expect(words).toContain('--app <ref> app (required)');
    expect(words).toContain("devices that get it (default: the channel's)");
    expect(words).toContain('(one of careful, normal, fast)');
    expect(words).toContain('SLUICE_KEY API key (required)');
    expect(words).toMatch(/SLUICE_URL address .* \(default: http:/);
    expect(stdout).toMatch(/^Example:\n {2}sluice release publish dist --app notes /m);
    const operators = await sluice(['devices', '--help']);
    expect(operators.stdout).toMatch(/ADMIN_TOKEN .*\n.*DATA_DIR/);
    expect(operators.stdout.match(/\(required/g)).toHaveLength(1);
  });

  it('no service, another one, and a wrong address are one line and exit 1 (Command line)', async () => {
    const create = (SLUICE_URL: string) => sluice(['org', 'create', '--name', 'A'], { SLUICE_URL });
    const dead = `http://127.0.0.1:${await freePort()}`;
    expectEnd(await create(dead), 1, dead);
    expectEnd(await create('localhost:8080'), 1, /^sluice: SLUICE_URL: /);
    const asked = `${node.url}/nowhere/console/api/organizations`;
    const words = `nothing at ${asked}: SLUICE_URL must be `;
    expectEnd(await create(`${node.url}/nowhere`), 1, words);
  });

  it('a wrong, missing or impossible admin token is one line and exit 1, and is never shown (Command line)', async () => {
    const secret = 'not-the-token';
    for (const [token, reason] of [
      [secret, /Invalid admin token/],
      ['', /no admin token/],
      [`${secret}\nx`, /ADMIN_TOKEN/],
      [`${secret}ß`, /ADMIN_TOKEN/],
    ] as const) {
      const refused = await sluice(['org', 'create', '--name', 'A'], { ADMIN_TOKEN: token });
      expectEnd(refused, 1, reason);
      expect(refused.stderr).not.toContain(secret);
    }
  });

  it('without SLUICE_URL it finds the service by HOST and PORT (Command line)', async () => {
    const { hostname, port } = new URL(node.url);
    const env = { SLUICE_URL: undefined, HOST: hostname, PORT: port };
    const { code, stdout } = await sluice(['org', 'create', '--name', 'A', '--json'], env);
    expect([code, (JSON.parse(stdout) as Json).name]).toEqual([0, 'A']);
  });
});

/** Returns the words of a command line as a shell reads them. */
function wordsOf(line: string): string[] {
  const shell = ['-c', `printf '%s\\0' ${line}`];
  return execFileSync('sh', shell, { encoding: 'utf8' }).split('\0').slice(0, -1);
}
