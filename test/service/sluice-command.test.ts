// Tests the `sluice` command, run as a script would run it (docs/operating.md, Command line).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnOneBackend } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, Person, tokenIn } from '../support/person.ts';
import { type CommandResult, runSluice } from '../support/sluice-command.ts';
import {
  admin,
  createTenant,
  devicesOf,
  manage,
  publish,
  randomId,
  report,
  send,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ONE_LINE = /^sluice: [^\n]+\n$/;
const ESCAPE = '\u001b';

describeOnOneBackend('the sluice command', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  /** Runs the command against the node. */
  function sluice(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
    // Not the default directory: a service started from this checkout may have left its token there.
    const DATA_DIR = join(node.dataDir, 'none');
    return runSluice(args, { SLUICE_URL: node.url, ADMIN_TOKEN, DATA_DIR, ...env });
  }

  /** Returns the one JSON document that a command prints with --json. */
  async function sluiceJson(...args: string[]): Promise<Fields> {
    const { code, stdout, stderr } = await sluice([...args, '--json']);
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout) as Fields;
  }

  async function audit(org: string, limit = 100): Promise<Fields[]> {
    const answer = await admin(node, 'GET', `audit?org=${org}&limit=${limit}`);
    expect(answer.status).toBe(200);
    return (answer.body as { entries: Fields[] }).entries;
  }

  it('--version: the version of the package, without a service (Command line)', async () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string };
    const answer = await sluice(['--version'], { SLUICE_URL: 'http://127.0.0.1:1' });
    expect(answer).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('org create: id and name (Command line)', async () => {
    const org = await sluiceJson('org', 'create', '--name', 'Größe & Söhne');
    expect(org).toMatchObject({ id: expect.stringMatching(/^org_/), name: 'Größe & Söhne' });
  });

  it('app create: id, ref, name and the channels stable and beta, which serve (Command line)', async () => {
    const { org } = await createTenant(node);
    const ref = `app-${randomId()}`;
    const app = await sluiceJson('app', 'create', '--org', org, '--ref', ref, '--name', 'My app');
    expect(app).toMatchObject({ ref, name: 'My app', channels: ['stable', 'beta'] });
    expect(app.id).toMatch(/^app_/);
    for (const channel of ['stable', 'beta']) {
      expect((await send(node, 'GET', `/u/${ref}/${channel}/a/b/1`)).status).toBe(204);
    }
  });

  it('app create --channels: those and no others, in their order (Command line)', async () => {
    const { org } = await createTenant(node);
    const ref = `app-${randomId()}`;
    const given = ['--ref', ref, '--name', 'A', '--channels', 'nightly, stable'];
    const app = await sluiceJson('app', 'create', '--org', org, ...given);
    expect(app.channels).toEqual(['nightly', 'stable']);
    expect((await send(node, 'GET', `/u/${ref}/beta/a/b/1`)).status).toBe(404);
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
    expect((left.devices as Fields[]).map(({ deviceId }) => deviceId)).toEqual(['real']);
    const entries = (await audit(org)).filter(({ action }) => action === 'device.purge');
    expect(entries.map(({ subject, after }) => [subject, after])).toEqual([
      [app, { firstSeenAfter: since, version: null, devices: 1 }],
      [app, { firstSeenAfter: since, version: '6.6.6', devices: 3 }],
    ]);
  });

  it.each([
    [['devices', 'purge', '--app', 'a'], '--first-seen-after'],
    [['devices', 'purge', '--first-seen-after', '2026-01-01T00:00:00Z'], '--app'],
    [['devices'], '--app'],
  ])('%j is a usage error that names %s (Command line)', async (args, option) => {
    const { code, stderr } = await sluice(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(option)]);
    expect(stderr).toMatch(ONE_LINE);
  });

  it('devices purge: a time that is none is refused by its name (Command line)', async () => {
    const { app } = await createTenant(node);
    const time = ['--first-seen-after', 'yesterday'];
    const { code, stderr } = await sluice(['devices', 'purge', '--app', app, ...time]);
    expect([code, stderr]).toEqual([1, 'sluice: firstSeenAfter: Must be an RFC 3339 time\n']);
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
      app,
      name: 'beta',
      minimumSupportedVersion: null,
      defaultRollout: 100,
      updateMode: 'optional',
      requireSignature: false,
      follows: null,
    };
    const steps: [option: string, value: string, change: Fields][] = [
      ['--minimum-supported-version', '1.2', { minimumSupportedVersion: '1.2' }],
      ['--default-rollout', '0', { defaultRollout: 0 }],
      ['--update-mode', 'recommended', { updateMode: 'recommended' }],
      ['--require-signature', 'true', { requireSignature: true }],
      ['--default-rollout', '25', { defaultRollout: 25 }],
      ['--require-signature', 'false', { requireSignature: false }],
      ['--minimum-supported-version', '', { minimumSupportedVersion: null }],
      ['--update-mode', 'optional', { updateMode: 'optional' }],
    ];
    for (const [option, value, change] of steps) {
      Object.assign(state, change);
      expect(await update(option, value)).toEqual(state);
    }
    const all = [
      '--minimum-supported-version',
      'v3',
      '--default-rollout',
      '7',
      '--update-mode',
      'recommended',
    ];
    const changed = {
      minimumSupportedVersion: 'v3',
      defaultRollout: 7,
      updateMode: 'recommended',
    };
    expect(await update(...all)).toEqual({ ...state, ...changed });
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
    const { entries } = (await sluiceJson('audit', '--org', tenant.org)) as { entries: Fields[] };
    expect(entries.map(({ subject }) => subject).slice(0, 3)).toEqual(
      ['1.2.0', '1.1.0', '1.0.0'].map((version) => `${tenant.app}/stable@${version}`),
    );
    for (const entry of entries) {
      expect(Object.keys(entry).sort()).toEqual([
        'action',
        'actor',
        'after',
        'at',
        'before',
        'reason',
        'requestId',
        'subject',
      ]);
      expect(entry.at).toMatch(TIMESTAMP);
    }
    const two = await sluiceJson('audit', '--org', tenant.org, '--limit', '2');
    expect(two.entries).toEqual(entries.slice(0, 2));
  });

  it('without --json it prints readable lines, one per field (Command line)', async () => {
    const tenant = await createTenant(node);
    const org = await sluice(['org', 'create', '--name', 'Readable']);
    expect(org.stdout).toMatch(/^id: org_\w+\nname: Readable\n$/);
    const entries = await sluice(['audit', '--org', tenant.org]);
    expect(entries.code).toBe(0);
    expect(entries.stdout).toMatch(/^at: \d{4}-.*\nactor: admin-token\naction: key\.create\n/);
    expect(entries.stdout.split('\n\n')).toHaveLength((await audit(tenant.org)).length);
  });

  it('what it prints cannot steer the terminal (Command line)', async () => {
    const name = `${ESCAPE}[31mred${ESCAPE}]0;title\u0007\u009b2J`;
    const { stdout } = await sluice(['org', 'create', '--name', name]);
    expect(stdout).toMatch(/red/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it('a refusal is one line on stderr and exit 1, with nothing on stdout (Command line)', async () => {
    const { org, app } = await createTenant(node);
    const cases: [args: string[], reason: RegExp][] = [
      [
        ['app', 'create', '--org', 'org_none', '--ref', `r-${randomId()}`, '--name', 'A'],
        /Unknown organization/,
      ],
      [['app', 'create', '--org', org, '--ref', app, '--name', 'A'], /already exists/],
      [['app', 'create', '--org', org, '--ref', 'with space', '--name', 'A'], /ref: /],
      [
        ['app', 'create', '--org', org, '--ref', 'r', '--name', 'A', '--channels', ''],
        /channels\.0: /,
      ],
      [['channel', 'create', '--app', app, '--name', 'stable'], /already exists/],
      [['channel', 'create', '--app', 'no-such-app', '--name', 'x'], /Unknown app/],
      [
        ['channel', 'update', '--app', app, '--name', 'nope', '--default-rollout', '5'],
        /Unknown channel/,
      ],
      [['channel', 'update', '--app', app, '--name', 'stable'], /is required/],
      [
        ['channel', 'update', '--app', app, '--name', 'stable', '--default-rollout', '101'],
        /defaultRollout: /,
      ],
      [
        ['channel', 'update', '--app', app, '--name', 'stable', '--minimum-supported-version', 'x'],
        /Invalid version/,
      ],
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
      const { code, stdout, stderr } = await sluice([...args, '--json']);
      expect([code, stdout], args.join(' ')).toEqual([1, '']);
      expect(stderr).toMatch(ONE_LINE);
      expect(stderr).toMatch(reason);
    }
  });

  it('wrong usage is one line on stderr and exit 2, and asks nothing of the service (Command line)', async () => {
    const wrong = [
      ['org', 'create'],
      ['org', 'create', '--name'],
      ['org', 'create', '--name', 'a', 'b'],
      ['org', 'create', '--nmae', 'a'],
      ['orgg'],
      ['org', 'delete'],
      ['key', 'revoke'],
      ['account', 'reset-password'],
      ['app', 'create', '--org', 'o', '--ref', 'r'],
      ['audit', '--org', 'o', '--limit', 'many'],
      ['channel', 'update', '--app', 'a', '--name', 'n', '--default-rollout', '-1'],
      ['channel', 'update', '--app', 'a', '--name', 'n', '--default-rollout', '5.5'],
      ['channel', 'update', '--app', 'a', '--name', 'n', '--update-mode', 'required'],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await sluice(args, { SLUICE_URL: 'http://127.0.0.1:1' });
      expect([code, stdout], args.join(' ')).toEqual([2, '']);
      expect(stderr, args.join(' ')).toMatch(ONE_LINE);
    }
    for (const args of [[], ['org']]) {
      const { code, stdout, stderr } = await sluice(args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^Usage: /);
    }
  });

  it('--help is no error and names every command of its level (Command line)', async () => {
    const { code, stdout } = await sluice(['--help']);
    expect(code).toBe(0);
    for (const name of ['serve', 'org', 'app', 'channel', 'key', 'audit'])
      expect(stdout).toContain(`\n  ${name} `);
  });

  it('a service that cannot be reached is one line and exit 1 (Command line)', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await sluice(['org', 'create', '--name', 'A', '--json'], {
      SLUICE_URL: url,
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toContain(url);
    const wrong = await sluice(['org', 'create', '--name', 'A'], {
      SLUICE_URL: 'localhost:8080',
    });
    expect([wrong.code, wrong.stdout]).toEqual([1, '']);
    expect(wrong.stderr).toMatch(/^sluice: SLUICE_URL: [^\n]+\n$/);
  });

  it('something else than the service at the address is one line and exit 1 (Command line)', async () => {
    const { code, stdout, stderr } = await sluice(['org', 'create', '--name', 'A'], {
      SLUICE_URL: `${node.url}/nowhere`,
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(ONE_LINE);
    const asked = `${node.url}/nowhere/console/api/organizations`;
    expect(stderr).toContain(`nothing at ${asked}: SLUICE_URL must be `);
  });

  it('a wrong, missing or impossible admin token is one line and exit 1, and is never shown (Command line)', async () => {
    const secret = 'not-the-token';
    const tokens: [token: string, reason: RegExp][] = [
      [secret, /Invalid admin token/],
      ['', /no admin token/],
      [`${secret}\nx`, /ADMIN_TOKEN/],
      [`${secret}ß`, /ADMIN_TOKEN/],
    ];
    for (const [token, reason] of tokens) {
      const { code, stdout, stderr } = await sluice(['org', 'create', '--name', 'A'], {
        ADMIN_TOKEN: token,
      });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(ONE_LINE);
      expect(stderr).toMatch(reason);
      expect(stderr).not.toContain(secret);
    }
  });

  it('without SLUICE_URL it finds the service by HOST and PORT (Command line)', async () => {
    const { hostname, port } = new URL(node.url);
    const env = { SLUICE_URL: undefined, HOST: hostname, PORT: port };
    const { code, stdout } = await sluice(['org', 'create', '--name', 'A', '--json'], env);
    expect([code, (JSON.parse(stdout) as Fields).name]).toEqual([0, 'A']);
  });
});
