// Tests the change of secrets and addresses while a service runs (docs/operating/rotate.md): two nodes
// read them from files again on SIGHUP, while devices, operators and a code host ask all the time.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SecretBox } from '../../src/notify/secret-box.ts';
import { ADMIN_APART, adminAddress } from '../support/admin-address.ts';
import { eventually } from '../support/eventually.ts';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN, type NodeSettings } from '../support/node.ts';
import { Person } from '../support/person.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { runOn } from '../support/run-on.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant, randomId, send, type Tenant } from '../support/tenant.ts';
import {
  describeOnWorkers,
  freshStores,
  type Stores,
  startWorkerNode,
  type WorkerNode,
} from '../support/worker-node.ts';

const PAUSE_MS = 20;
const READ_AGAIN = 'settings were read again';
const NOT_READ = 'settings could not be read again, the ones before stay';
/** Values of 32 characters, as several at a time must have. */
const long = (text: string) => text.padEnd(32, '-');
const [TOKEN, NEXT_TOKEN] = [long('token-before'), long('token-after')];
const [KEY, NEXT_KEY] = [long('key-before'), long('key-after')];

describeOnWorkers('secrets and addresses in files', () => {
  let folder: string;
  let stores: Stores;
  let nodes: readonly [WorkerNode, WorkerNode];
  let tenant: Tenant;
  let hook: Hook;
  /** Console addresses of the nodes. */
  let consoles: readonly { readonly url: string }[];
  /** Token that operators send now. */
  let token = TOKEN;
  let releases = 0;

  /** Values that the files should have. */
  const right = new Map<string, string>();

  function put(name: string, value: string): void {
    right.set(name, value);
    spoil(name, value);
  }

  function spoil(name: string, text: string): void {
    writeFileSync(join(folder, name), `${text}\n`);
  }

  /** Sends SIGHUP to every node, and waits until each says that it has read the files. */
  async function reload(message = READ_AGAIN): Promise<void> {
    const counts = nodes.map((node) => told(node, message));
    for (const { main } of nodes) main.kill('SIGHUP');
    await eventually('the nodes have read the files', () =>
      nodes.every((node, index) => told(node, message) > (counts[index] ?? 0)),
    );
  }

  function told(node: WorkerNode, message: string): number {
    return node.log().filter(({ msg }) => msg === message).length;
  }

  function operator(node: { readonly url: string }, method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${token}` };
    return send(node, method, `/console/api/${path}`, { headers, body });
  }

  beforeAll(async () => {
    folder = temporaryFolder('sluice-files-');
    stores = await freshStores();
    const { DATABASE_URL = '', REDIS_URL = '' } = stores.settings;
    const values = { DATABASE_URL, REDIS_URL, ADMIN_TOKEN, SECRET_KEY: KEY };
    for (const [name, value] of Object.entries(values)) put(name, value);
    const files = Object.keys(values).flatMap((name) => [
      [name, undefined],
      [`${name}_FILE`, join(folder, name)],
    ]);
    const settings = Object.fromEntries(files) as NodeSettings;
    nodes = await Promise.all([
      startWorkerNode(stores, { ...settings, WORKERS: '2', ...ADMIN_APART }),
      startWorkerNode(stores, settings),
    ]);
    consoles = [adminAddress(nodes[0].log()), nodes[1]];
    tenant = await createTenant(consoles[1] ?? nodes[1]);
    expect((await tenant.at(nodes[0]).publish('1.0.0')).status).toBe(201);
    hook = await enableWebhook(nodes[1], tenant);
    // The helpers above know one token, which is too short to be one of several.
    put('ADMIN_TOKEN', TOKEN);
    await reload();
  });
  afterAll(async () => {
    for (const node of nodes ?? []) await node.dispose();
    await stores?.drop();
    removeFolder(folder);
  });

  /** Asks both nodes in every way until it is stopped. */
  function ask() {
    const counts = { check: 0, console: 0, delivery: 0, publish: 0 };
    const failed: string[] = [];
    const noting =
      (
        kind: keyof typeof counts,
        call: (turn: number) => Promise<{ status: number; text: string }>,
      ) =>
      async (turn: number) => {
        const noAnswer = (error: unknown) => ({ status: 0, text: `${error}` });
        const { status, text } = await call(turn).catch(noAnswer);
        counts[kind] += 1;
        if (status < 200 || status >= 300) failed.push(`${kind}: ${status} ${text}`);
      };
    const at = <Node>(all: readonly Node[], turn: number) => all[turn % all.length] as Node;
    let publisher = tenant;
    const running = repeatCalls(
      PAUSE_MS,
      noting('check', (turn) => tenant.at(at(nodes, turn)).check('0.9.0', { device: `d${turn}` })),
      noting('console', (turn) => operator(at(consoles, turn), 'GET', `audit?org=${tenant.org}`)),
      noting('delivery', (turn) => {
        const assets = [asset('notes-linux-amd64')];
        return deliver(at(nodes, turn), hook, releaseEvent(`v2.0.${turn}`, { assets }));
      }),
      // A key may make 60 calls a minute.
      noting('publish', async (turn) => {
        if (turn % 50 === 0) {
          const named = { org: tenant.org, name: randomId() };
          const { body } = await operator(nodes[1], 'POST', 'keys', named);
          publisher = tenant.with({ secret: String(body?.secret) });
        }
        releases += 1;
        return publisher.at(at(nodes, turn)).publish(`1.1.${releases}`, { channel: 'beta' });
      }),
    );
    return {
      /** Waits until every kind of request has met the settings that hold now, on both nodes. */
      goOn() {
        const before = { ...counts };
        const kinds = Object.keys(counts) as (keyof typeof counts)[];
        return eventually('every kind of request goes on', () =>
          kinds.every((kind) => counts[kind] >= before[kind] + 5),
        );
      },
      /** Returns what failed. */
      async stop() {
        await running.end();
        return failed;
      },
    };
  }

  it('both secrets change under load without a failed request (Rotation)', async () => {
    const load = ask();
    await load.goOn();
    // First everywhere as a second value, then everywhere as the first, then alone.
    put('ADMIN_TOKEN', `${TOKEN},${NEXT_TOKEN}`);
    put('SECRET_KEY', `${KEY},${NEXT_KEY}`);
    await reload();
    await load.goOn();
    token = NEXT_TOKEN;
    put('ADMIN_TOKEN', `${NEXT_TOKEN},${TOKEN}`);
    put('SECRET_KEY', `${NEXT_KEY},${KEY}`);
    await reload();
    await load.goOn();
    const before = await webhookRow();
    const resealed = await reseal();
    expect(resealed).toEqual({ resealed: 1, unreadable: 0 });
    expect(await reseal()).toEqual({ resealed: 0, unreadable: 0 });
    await load.goOn();
    put('ADMIN_TOKEN', NEXT_TOKEN);
    put('SECRET_KEY', NEXT_KEY);
    await reload();
    await load.goOn();
    expect(await load.stop()).toEqual([]);

    const after = await webhookRow();
    expect(after.enabledAt).toBe(before.enabledAt);
    expect(after.sealed).not.toBe(before.sealed);
    const opened = new SecretBox([NEXT_KEY]).open(after.sealed, `webhook:${tenant.appId}`);
    expect(opened?.secret).toBe(hook.secret);
    const auditPath = `/console/api/audit?org=${tenant.org}`;
    for (const node of consoles) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      expect((await send(node, 'GET', auditPath, { headers })).status).toBe(401);
      expect((await operator(node, 'GET', `audit?org=${tenant.org}`)).status).toBe(200);
    }
  });

  async function reseal(): Promise<unknown> {
    const env = { SLUICE_URL: consoles[0]?.url, ADMIN_TOKEN_FILE: join(folder, 'ADMIN_TOKEN') };
    const { code, stdout, stderr } = await runSluice(['secrets', 'reseal', '--json'], env);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  }

  async function webhookRow(): Promise<{ sealed: string; enabledAt: string }> {
    const [row] = await runOn<{ sealed: string; enabledAt: string }>(
      String(stores.settings.DATABASE_URL),
      'SELECT sealed_secret AS sealed, enabled_at::text AS "enabledAt" FROM webhooks',
    );
    if (row === undefined) throw new Error('no webhook');
    return row;
  }

  it('only the holder of the admin token seals secrets again', async () => {
    const path = '/console/api/secrets/reseal';
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }]) {
      expect((await send(nodes[1], 'POST', path, { headers, body: {} })).status).toBe(401);
    }
    const owner = new Person(nodes[1]);
    const account = { name: 'O', email: 'o@example.com', password: long('password') };
    const setUp = { ...account, token: NEXT_TOKEN, organization: 'O' };
    expect((await owner.call('POST', 'setup', setUp)).status).toBe(201);
    expect((await owner.call('POST', 'secrets/reseal', {})).status).toBe(403);
    const answer = await operator(nodes[1], 'POST', 'secrets/reseal', {});
    expect([answer.status, answer.body]).toEqual([200, { resealed: 0, unreadable: 0, next: null }]);
  });

  it('the addresses of PostgreSQL and Redis change under load: new connections use them, the others end (Rotation)', async () => {
    const { DATABASE_URL = '', REDIS_URL = '' } = stores.settings;
    const role = `rotated${randomId()}`.replace(/\W/g, '');
    const url = Object.assign(new URL(DATABASE_URL), { username: role, password: 'p' });
    const former = new URL(DATABASE_URL).username;
    await runOn(DATABASE_URL, `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'p'`);
    const roles = async () => {
      const rows = await runOn<{ user: string }>(
        DATABASE_URL,
        `SELECT DISTINCT usename AS user FROM pg_stat_activity
         WHERE application_name = 'sluice' AND datname = current_database()`,
      );
      return rows.map(({ user }) => user).join();
    };
    const redisUrl = Object.assign(new URL(REDIS_URL), { username: role, password: 'p' });
    const redis = new Redis(REDIS_URL);
    await redis.call('ACL', 'SETUSER', role, 'on', '>p', '~*', '&*', '+@all');
    const users = async () => {
      const list = String(await redis.call('CLIENT', 'LIST'));
      const own = `id=${await redis.call('CLIENT', 'ID')} `;
      const lines = list.split('\n').filter((line) => line !== '' && !line.startsWith(own));
      return [...new Set(lines.map((line) => /user=(\S+)/.exec(line)?.[1]))].join();
    };
    expect([await roles(), await users()]).toEqual([former, 'default']);
    const load = ask();
    await load.goOn();
    put('DATABASE_URL', url.href);
    await reload();
    await eventually('only the new role is connected', async () => (await roles()) === role);
    await load.goOn();
    put('REDIS_URL', redisUrl.href);
    await reload();
    await eventually('only the new user is connected', async () => (await users()) === role);
    await load.goOn();
    redis.disconnect();
    expect(await load.stop()).toEqual([]);
    // Announcements still arrive.
    const lost = () =>
      nodes.map((node) => told(node, 'found a change whose announcement was lost'));
    const lostBefore = lost();
    const key = await operator(nodes[1], 'POST', 'keys', { org: tenant.org, name: 'last' });
    const publisher = tenant.with({ secret: String(key.body?.secret) });
    expect((await publisher.at(nodes[0]).publish('9.0.0')).status).toBe(201);
    await tenant.at(nodes[1]).untilOffered('9.0.0');
    expect(lost()).toEqual(lostBefore);
  });

  it('a file that cannot be used changes nothing, and each node says so once (Rotation)', async () => {
    const errors = () => nodes.map((node) => told(node, NOT_READ));
    const wrong = {
      ADMIN_TOKEN: 'one-s3cret,two',
      SECRET_KEY: '',
      DATABASE_URL: 's3cret',
      REDIS_URL: 'redis://:s3cret@127.0.0.1/not-a-number',
    };
    for (const [name, text] of Object.entries(wrong)) {
      const before = errors();
      // What is right in another file does not count either.
      spoil(name === 'ADMIN_TOKEN' ? 'SECRET_KEY' : 'ADMIN_TOKEN', long('another'));
      spoil(name, text);
      await reload(NOT_READ);
      // A process that ends meanwhile starts with what the others use.
      const starts = nodes[0].processIds('worker 1').length;
      await nodes[0].killPart('worker 1');
      await eventually('it is back', () => nodes[0].processIds('worker 1').length > starts);
      expect(errors()).toEqual(before.map((count) => count + 1));
      for (const node of nodes) {
        const line = node.log().findLast(({ msg }) => msg === NOT_READ);
        const reason = expect.stringMatching(`^${name}(_FILE)?: `);
        expect(line).toMatchObject({ level: 'error', reason });
        expect(JSON.stringify(line)).not.toContain('s3cret');
      }
      for (const node of consoles) {
        expect((await operator(node, 'GET', `audit?org=${tenant.org}`)).status).toBe(200);
      }
      // To a process of either node; which one of the first, the system decides.
      for (const node of [...nodes, ...nodes, ...nodes]) {
        expect((await deliver(node, hook, releaseEvent('v3.0.0'))).status).toBe(200);
      }
      for (const [each, value] of right) spoil(each, value);
    }
  });
});
