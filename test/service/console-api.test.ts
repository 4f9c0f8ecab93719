// What an operator does: the console API with the admin token, and the `sluice` command that speaks it, run
// as a script would run it (operators: Command line).

import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import {
  type Answer,
  admin,
  control,
  createTenant,
  manage,
  publish,
  randomId,
  send,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type Result = { readonly code: number; readonly stdout: string; readonly stderr: string };

const COMMAND = fileURLToPath(new URL('../../dist/cli/sluice.js', import.meta.url));
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ONE_LINE = /^sluice: [^\n]+\n$/;
const ESCAPE = '\u001b';

/** Every console endpoint, with a body that would be let in. */
const ENDPOINTS: readonly [method: string, path: string, body?: Fields][] = [
  ['POST', 'organizations', { name: 'Org' }],
  ['POST', 'apps', { org: 'org_x', ref: 'r', name: 'App' }],
  ['POST', 'channels', { app: 'r', name: 'c' }],
  ['PATCH', 'channels', { app: 'r', name: 'c', defaultRollout: 1 }],
  ['POST', 'keys', { org: 'org_x', name: 'k' }],
  ['POST', 'keys/key_x/revoke'],
  ['GET', 'audit?org=org_x'],
];

describeOnBackends('console', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  /** Runs the command against the node. */
  function sluice(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> {
    // Not the default directory: a service started from this checkout may have left its token there.
    const DATA_DIR = join(node.dataDir, 'none');
    return run(args, { SLUICE_URL: node.url, ADMIN_TOKEN, DATA_DIR, ...env });
  }

  /** The one JSON document that a command prints with --json. */
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

  describe('the sluice command', () => {
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
      };
      const steps: [option: string, value: string, change: Fields][] = [
        ['--minimum-supported-version', '1.2', { minimumSupportedVersion: '1.2' }],
        ['--default-rollout', '0', { defaultRollout: 0 }],
        ['--update-mode', 'recommended', { updateMode: 'recommended' }],
        ['--default-rollout', '25', { defaultRollout: 25 }],
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
        expect([answer.status, answer.body]).toEqual([
          401,
          { error: 'Invalid or revoked API key' },
        ]);
      }
      expect(await sluiceJson('key', 'revoke', tenant.keyId)).toEqual(revoked);
      const revocations = (await audit(tenant.org)).filter(({ action }) => action === 'key.revoke');
      expect(revocations).toHaveLength(1);
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
          [
            'channel',
            'update',
            '--app',
            app,
            '--name',
            'stable',
            '--minimum-supported-version',
            'x',
          ],
          /Invalid version/,
        ],
        [['key', 'create', '--org', 'org_none', '--name', 'k'], /Unknown organization/],
        [['key', 'create', '--org', org, '--name', ''], /name: Must not be empty/],
        [['key', 'revoke', 'key_none'], /Unknown API key/],
        [['key', 'revoke', '../apps'], /Unknown API key/],
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

  describe('the console API', () => {
    it('every endpoint refuses whoever has not the admin token, whatever the body (5)', async () => {
      const { secret } = await createTenant(node);
      const strangers = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer wrong',
        `Bearer ${secret}`,
        `Basic ${ADMIN_TOKEN}`,
        ADMIN_TOKEN,
        `Bearer ${ADMIN_TOKEN}x`,
        `Bearer ${ADMIN_TOKEN} x`,
      ];
      for (const [method, path] of ENDPOINTS) {
        for (const authorization of strangers) {
          const headers: Record<string, string> =
            authorization === undefined ? {} : { authorization };
          const body = method === 'GET' ? undefined : '{"not":';
          const answer = await send(node, method, `/console/api/${path}`, { headers, body });
          expect([answer.status, answer.body], `${path} ${authorization}`).toEqual([
            401,
            { error: authorization === undefined ? 'Sign in first' : 'Invalid admin token' },
          ]);
        }
      }
    });

    it('the admin token is no API key (5)', async () => {
      expect((await manage(node, { secret: ADMIN_TOKEN }, 'GET', 'apps')).status).toBe(401);
    });

    it("the scheme's case does not matter (5)", async () => {
      const { org } = await createTenant(node);
      const headers = { authorization: `bEARER ${ADMIN_TOKEN}` };
      expect((await send(node, 'GET', `/console/api/audit?org=${org}`, { headers })).status).toBe(
        200,
      );
    });

    it('paths it has not are 404, methods it has not 405 with what is allowed (7)', async () => {
      expect((await admin(node, 'GET', 'nothing')).status).toBe(404);
      expect((await admin(node, 'POST', 'keys//revoke', {})).status).toBe(404);
      const wrong = await admin(node, 'DELETE', 'channels', {});
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST, PATCH']);
    });

    it.each<[method: string, path: string, body: Fields | string | undefined, error: RegExp]>([
      ['POST', 'organizations', {}, /^name: Required$/],
      ['POST', 'organizations', { name: '' }, /^name: Must not be empty$/],
      ['POST', 'organizations', { name: 5 }, /^name: Expected a string$/],
      ['POST', 'organizations', { name: 'x'.repeat(201) }, /^name: .*200/],
      ['POST', 'organizations', { name: 'a\u0000b' }, /^name: .*NUL/],
      ['POST', 'organizations', { name: 'A', nmae: 'B' }, /^nmae: Unrecognized key$/],
      ['POST', 'organizations', '[]', /^body: /],
      ['POST', 'organizations', '{', /^Invalid JSON body$/],
      ['POST', 'organizations', undefined, /^Invalid JSON body$/],
      ['POST', 'apps', { org: 'o', ref: 'r' }, /^name: Required$/],
      ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: [] }, /^channels: .*at least 1/],
      [
        'POST',
        'apps',
        { org: 'o', ref: 'r', name: 'A', channels: ['a', 'a'] },
        /^channels: .*repeat/,
      ],
      ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: ['a', 'b/c'] }, /^channels\.1: /],
      [
        'POST',
        'apps',
        { org: 'o', ref: 'r', name: 'A', channels: 'a' },
        /^channels: Expected an array$/,
      ],
      ['POST', 'channels', { app: 'r', name: 'a b' }, /^name: /],
      ['PATCH', 'channels', { app: 'r', name: 'stable' }, /is required$/],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: 101 },
        /^defaultRollout: .*100/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: -1 },
        /^defaultRollout: .*0/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: 1.5 },
        /^defaultRollout: Expected an integer$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: '5' },
        /^defaultRollout: Expected a number$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', updateMode: 'required' },
        /^updateMode: Must be one of optional, recommended$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', minimumSupportedVersion: 'x' },
        /^minimumSupportedVersion: Invalid version$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', minimumSupportedVersion: '' },
        /^minimumSupportedVersion: Invalid version$/,
      ],
      ['POST', 'keys', { org: 'o' }, /^name: Required$/],
      ['GET', 'audit', undefined, /^org: Required$/],
      ['GET', 'audit?org=o&limit=0', undefined, /^limit: .*1/],
      ['GET', 'audit?org=o&limit=1001', undefined, /^limit: .*1000/],
      ['GET', 'audit?org=o&limit=x', undefined, /^limit: /],
    ])('%s %s with %j is 400 and names the field (7)', async (method, path, body, error) => {
      const answer = await admin(node, method, path, body);
      expect(answer.status, answer.text).toBe(400);
      expect(answer.body?.error).toMatch(error);
    });

    it('what does not exist is 404 and says what it is (7)', async () => {
      const { app } = await createTenant(node);
      const rollout = { defaultRollout: 1 };
      const cases: [answer: Promise<Answer>, error: string][] = [
        [
          admin(node, 'POST', 'apps', { org: 'org_none', ref: `r-${randomId()}`, name: 'A' }),
          'Unknown organization',
        ],
        [admin(node, 'POST', 'keys', { org: 'org_none', name: 'A' }), 'Unknown organization'],
        [admin(node, 'GET', 'audit?org=org_none'), 'Unknown organization'],
        [admin(node, 'POST', 'channels', { app: 'no-such-app', name: 'c' }), 'Unknown app'],
        [
          admin(node, 'PATCH', 'channels', { app: 'no-such-app', name: 'stable', ...rollout }),
          'Unknown app',
        ],
        [admin(node, 'PATCH', 'channels', { app, name: 'no-such', ...rollout }), 'Unknown channel'],
        [admin(node, 'POST', 'keys/key_none/revoke'), 'Unknown API key'],
        [admin(node, 'POST', 'keys/%00/revoke'), 'Unknown API key'],
      ];
      for (const [answer, error] of cases) {
        expect([(await answer).status, (await answer).body]).toEqual([404, { error }]);
      }
    });

    it('a ref is taken once over all organizations, a channel once per app: 409 (resolutions: Publishing)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      for (const org of [tenant.org, other.org]) {
        const taken = await admin(node, 'POST', 'apps', { org, ref: tenant.app, name: 'A' });
        expect([taken.status, taken.body]).toEqual([
          409,
          { error: 'An app with this ref already exists' },
        ]);
      }
      const twice = await admin(node, 'POST', 'channels', { app: tenant.app, name: 'beta' });
      expect([twice.status, twice.body]).toEqual([
        409,
        { error: 'A channel with this name already exists on this app' },
      ]);
      expect(
        (await admin(node, 'POST', 'channels', { app: tenant.app, name: 'Beta' })).status,
      ).toBe(201);
    });

    it('of many who want one ref at once exactly one gets it (resolutions: Publishing)', async () => {
      const { org } = await createTenant(node);
      const ref = `app-${randomId()}`;
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => admin(node, 'POST', 'apps', { org, ref, name: 'A' })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array<number>(7).fill(409),
      ]);
    });

    it.each(['a', 'A.b_c-9', '9lives', 'x'.repeat(64), 'app_1'])(
      'a ref may be %s (Command line)',
      async (text) => {
        const { org } = await createTenant(node);
        // Refs are unique, and this suite runs twice on stores of its own.
        const answer = await admin(node, 'POST', 'apps', { org, ref: text, name: 'A' });
        expect(answer.status, answer.text).toBe(201);
        expect((await send(node, 'GET', `/u/${text}/stable/linux/x64/1.0.0`)).status).toBe(204);
      },
    );

    it.each([
      '',
      '-a',
      '.a',
      '_a',
      'a b',
      'a/b',
      'ä',
      'a%20',
      'a\n',
      'x'.repeat(65),
      `app_${'0'.repeat(26)}`,
    ])('a ref cannot be %j (Command line)', async (text) => {
      const { org } = await createTenant(node);
      const answer = await admin(node, 'POST', 'apps', { org, ref: text, name: 'A' });
      expect([answer.status, answer.body?.error]).toEqual([400, expect.stringMatching(/^ref: /)]);
    });

    it('a channel can be named by the id of its app as well (resolutions: Publishing)', async () => {
      const { appId, app } = await createTenant(node);
      const change = { app: appId, name: 'stable', updateMode: 'recommended' };
      expect((await admin(node, 'PATCH', 'channels', change)).body).toMatchObject({
        app,
        updateMode: 'recommended',
      });
    });
  });

  describe('the audit', () => {
    it('tells who changed what from what to what, newest first (resolutions: Publishing)', async () => {
      const tenant = await createTenant(node);
      const { app, org, keyId } = tenant;
      await admin(node, 'PATCH', 'channels', { app, name: 'stable', defaultRollout: 40 });
      await publish(node, tenant, 'v1.2');
      await control(node, tenant, '1.2.0', { rollout: 60, status: 'paused' });
      await admin(node, 'POST', `keys/${keyId}/revoke`);
      const [revoke, serve, published, update, ...setUp] = await audit(org);
      expect(revoke).toMatchObject({
        actor: 'admin-token',
        action: 'key.revoke',
        subject: keyId,
        before: { revokedAt: null },
      });
      expect(serve).toMatchObject({
        actor: `key:${keyId} (ci)`,
        action: 'release.serve',
        subject: `${app}/stable@v1.2`,
        before: { rolloutPct: 40, status: 'published', targets: null },
        after: { rolloutPct: 60, status: 'paused', targets: null },
      });
      expect(published).toMatchObject({
        actor: `key:${keyId} (ci)`,
        action: 'release.publish',
        before: null,
        after: { version: 'v1.2', status: 'published', rolloutPct: 40 },
      });
      expect(update).toMatchObject({
        action: 'channel.update',
        subject: `${app}/stable`,
        before: { defaultRollout: 100 },
        after: { defaultRollout: 40 },
      });
      expect(setUp.map(({ action }) => action)).toEqual([
        'key.create',
        'app.create',
        'organization.create',
      ]);
      const times = (await audit(org)).map(({ at }) => String(at));
      expect(times).toEqual([...times].sort().reverse());
    });

    it('does not tell of what was refused, nor of what changed nothing (resolutions: Publishing)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const before = await audit(tenant.org);
      expect((await publish(node, tenant, '1.0')).status).toBe(409);
      expect((await publish(node, tenant, 'x')).status).toBe(400);
      expect((await control(node, tenant, '2.0.0', { rollout: 1 })).status).toBe(404);
      expect((await control(node, tenant, '1.0.0', { rollout: 100 })).status).toBe(200);
      expect(
        (
          await admin(node, 'PATCH', 'channels', {
            app: tenant.app,
            name: 'stable',
            defaultRollout: 100,
          })
        ).status,
      ).toBe(200);
      expect(await audit(tenant.org)).toEqual(before);
    });

    it("is the organization's own (5)", async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      await publish(node, tenant, '1.0.0');
      expect(JSON.stringify(await audit(other.org))).not.toContain(tenant.app);
    });
  });
});

describeOnBackends('a service without ADMIN_TOKEN', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start({ ADMIN_TOKEN: undefined });
  });
  afterAll(() => node?.dispose());

  const isEmbedded = backend.name === 'embedded';
  const tokenFile = () => join(node.dataDir, 'admin-token');

  if (isEmbedded) {
    it('embedded: makes its own, in a file that only its owner can read, and never prints it (Environment)', async () => {
      const file = await stat(tokenFile());
      expect(file.mode & 0o777).toBe(0o600);
      const token = (await readFile(tokenFile(), 'utf8')).trim();
      expect(token).toMatch(/^[\w-]{43}$/);
      expect(node.output()).not.toContain(token);
      const { stdout } = await run(['org', 'create', '--name', 'A', '--json'], {
        SLUICE_URL: node.url,
        DATA_DIR: node.dataDir,
      });
      expect(JSON.parse(stdout)).toMatchObject({ name: 'A' });
    });

    it('embedded: a token given by ADMIN_TOKEN goes before the file (Command line)', async () => {
      const env = { SLUICE_URL: node.url, DATA_DIR: node.dataDir, ADMIN_TOKEN: 'wrong' };
      expect((await run(['org', 'create', '--name', 'A'], env)).code).toBe(1);
    });
  } else {
    it('on PostgreSQL: makes none, and the console API is off for everybody (Environment)', async () => {
      await expect(stat(tokenFile())).rejects.toThrow(/ENOENT/);
      const guesses = [
        undefined,
        'Bearer',
        'Bearer ',
        'Bearer undefined',
        'Bearer null',
        `Bearer ${ADMIN_TOKEN}`,
      ];
      for (const [method, path, body] of ENDPOINTS) {
        for (const guess of guesses) {
          const headers: Record<string, string> =
            guess === undefined ? {} : { authorization: guess };
          expect((await send(node, method, `/console/api/${path}`, { body, headers })).status).toBe(
            401,
          );
        }
      }
    });
  }
});

/** Runs the command to its end, in an environment that has nothing but what is given. */
function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Result> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [COMMAND, ...args],
      { env: { PATH: process.env.PATH, ...env }, timeout: 30_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}
