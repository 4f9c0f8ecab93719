// Tests the proxies that are put before nodes, each by its own program: the front of docker-compose.yml in
// HAProxy, and deploy/nginx.conf in nginx. The nodes have the settings that docker-compose.yml gives them.

import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { realStores } from '../support/backend.ts';
import {
  type Front,
  findHaproxy,
  readComposeSettings,
  startComposeFront,
} from '../support/compose-front.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { ask, outcomeOf, type Reply } from '../support/http-ask.ts';
import { findNginx, findOpenssl, startNginxFront } from '../support/nginx-front.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { runOn } from '../support/run-on.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

/** Answers by their status, or by the code of the error that came instead. */
type Outcomes = Map<string, number>;

/** Password that no address could carry as it is. */
const PASSWORD = "p/w#d@e:f%g?h'i $j";
const CLIENTS = 4;
const NAMES = ['HAProxy', 'nginx'] as const;

const isMissing =
  realStores() === undefined ||
  [findHaproxy(), findNginx(), findOpenssl()].some((binary) => binary === undefined);
const title = 'two nodes behind a proxy';

describe.skipIf(isMissing)(
  isMissing ? `${title} (skipped: no PostgreSQL, Redis, HAProxy, nginx or openssl)` : title,
  () => {
    let postgres: PostgresServer;
    let redis: RedisServer;
    const nodes: ServingNode[] = [];
    let fronts: Record<(typeof NAMES)[number], Front>;
    let tenant: Tenant;

    beforeAll(async () => {
      [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
      await makeRole(postgres);
      const settings = await readComposeSettings(
        { POSTGRES_PASSWORD: PASSWORD, ADMIN_TOKEN, SECRET_KEY: 'a key of the tests' },
        { postgres: `127.0.0.1:${postgres.port}`, redis: new URL(redis.url).host },
      );
      const addresses = [];
      for (const _ of NAMES) {
        const [PORT, admin] = [String(await freePort()), `127.0.0.1:${await freePort()}`];
        addresses.push({ service: `127.0.0.1:${PORT}`, admin });
        nodes.push(await startNode({ ...settings, PORT, ADMIN_LISTEN: admin, ACCESS_LOG: 'on' }));
      }
      const [first, second] = addresses;
      if (first === undefined || second === undefined) throw new Error('there are two nodes');
      tenant = await createTenant({ url: `http://${first.admin}` });
      await tenant.at({ url: `http://${first.service}` }).publish('1.1.0');
      fronts = {
        HAProxy: await startComposeFront([first, second]),
        nginx: await startNginxFront([first, second]),
      };
      for (const { url, output } of Object.values(fronts)) {
        await eventually(`it finds the nodes: ${output()}`, async () => {
          return (await ask(`${url}/readyz`)).status === 200;
        });
      }
    });
    endWithSuite(() => [...Object.values(fronts ?? {}), ...nodes, postgres, redis]);

    const check = () => `/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
    const device = () => ({ 'x-service-device': randomUUID() });

    describe.each(NAMES)('%s', (name) => {
      it('passes on what devices and publishers ask, also what is long, and what a node refuses', async () => {
        const { url } = fronts[name];
        const offered = await ask(url + check(), { headers: device() });
        expect([offered.status, JSON.parse(offered.text).version]).toEqual([200, '1.1.0']);
        const unknown = await ask(`${url}/u/none/stable/linux/x86_64/1.0.0`, { headers: device() });
        expect([unknown.status, JSON.parse(unknown.text)]).toEqual([404, { error: 'Unknown app' }]);
        const headers = { authorization: `Bearer ${tenant.secret}` };
        expect((await ask(`${url}/api/v1/apps`, { headers })).status).toBe(200);
        const labels = Array.from({ length: 400 }, (_, n) => `l.key-${n}=${'x'.repeat(120)}`);
        const long = await ask(`${url}${check()}?${labels.join('&')}`, { headers: device() });
        const refused = expect.stringContaining('label');
        expect([long.status, JSON.parse(long.text).error]).toEqual([400, refused]);
        const body = JSON.stringify({ text: 'x'.repeat(3_000_000) });
        const large = await ask(`${url}/wh/github/${tenant.appId}`, { method: 'POST', body });
        expect([large.status, large.headers['content-type']]).toEqual([404, 'application/json']);
      });

      it('keeps console and metrics from everybody but operators, and passes on their live feed as it comes', async () => {
        const { url, adminUrl } = fronts[name];
        for (const path of ['/metrics', '/console', '/console/api/session']) {
          expect([path, (await ask(url + path)).status]).toEqual([path, 404]);
          // The metrics are 503 while another process of the node is slow.
          await expect
            .poll(async () => [path, (await ask(adminUrl + path)).status])
            .toEqual([path, 200]);
        }
        expect((await ask(adminUrl + check())).status).toBe(404);
        const { status, headers } = await ask(url, { headers: { accept: 'text/html' } });
        expect([status, headers.location]).toEqual([302, 'http://127.0.0.1:9090/console']);
        const operator = { authorization: `Bearer ${ADMIN_TOKEN}` };
        const feed = `${adminUrl}/console/api/live?app=${tenant.app}`;
        expect((await ask(feed, { headers: operator, isLeaving: true })).text).toMatch(/^: open/);
      });

      it('tells the nodes who asks, whatever the client claims', async () => {
        // Each proxy is asked from an address that nothing else asks from.
        const localAddress = `127.0.0.${NAMES.indexOf(name) + 2}`;
        const seen = new Set<number>();
        // Requests without a device id meet the limit of their address.
        for (let asked = 0; asked < 600 && !seen.has(429); asked++) {
          const headers = { 'x-forwarded-for': `192.0.2.${asked % 250}` };
          seen.add((await ask(fronts[name].url + check(), { headers, localAddress })).status);
        }
        expect([...seen]).toEqual([200, 429]);
      });
    });

    it('restarted one after the other, fails no request of clients that ask all the time', async () => {
      const load = Object.values(fronts).map((front) => startLoad(front, check(), tenant));
      for (const each of load) await eventually('all of them ask', () => each.haveAllAsked());
      for (const [index, node] of nodes.entries()) {
        await node.stop();
        nodes[index] = await node.restart();
        await eventually('it is ready', async () => {
          return (await ask(`${nodes[index]?.url}/readyz`)).status === 200;
        });
        // HAProxy says so; nginx tries the node again after a time.
        const server = `Server nodes/sluice-${index + 1} is UP`;
        await eventually(server, () => fronts.HAProxy.output().includes(server));
        await eventually('nginx asks it again', async () => {
          const mark = randomUUID();
          await ask(`${fronts.nginx.url}/u/${mark}/stable/linux/x86_64/1.0.0`);
          return nodes[index]?.output().includes(mark) === true;
        });
      }
      const outcomes = await Promise.all(load.map((each) => each.end()));
      for (const [index, kinds] of outcomes.entries()) {
        for (const [kind, counts] of Object.entries(kinds)) {
          expect([NAMES[index], kind, [...counts.keys()]]).toEqual([NAMES[index], kind, ['200']]);
          expect(counts.get('200'), kind).toBeGreaterThan(4);
        }
      }
    });

    it('and both stopped, are 503 in JSON, with the time to try again', async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      for (const [name, { url }] of Object.entries(fronts)) {
        const { status, headers, text } = await ask(url + check());
        expect([name, status, headers['content-type'], headers['retry-after']]).toEqual([
          ...[name, 503, 'application/json', '1'],
        ]);
        expect(JSON.parse(text)).toEqual({ error: 'Temporarily unavailable, try again shortly' });
      }
    });
  },
);

/** Makes the role and the database of docker-compose.yml, on a server that demands the role's password. */
async function makeRole({ url, port }: PostgresServer): Promise<void> {
  await runOn(url, `create role sluice login password ${pg.escapeLiteral(PASSWORD)}`);
  await runOn(url, 'create database sluice owner sluice');
  const [row] = await runOn<{ hba_file: string }>(url, 'show hba_file');
  const file = row?.hba_file ?? '';
  const rules = await readFile(file, 'utf8');
  await writeFile(file, `host all sluice 127.0.0.1/32 scram-sha-256\n${rules}`);
  await runOn(url, 'select pg_reload_conf()');
  await eventually('a wrong password is refused', () =>
    runOn(`postgres://sluice:wrong@127.0.0.1:${port}/sluice`, 'select 1').then(
      () => false,
      () => true,
    ),
  );
}

/** Clients of a front: devices with and without connections that they keep, a publisher, and an operator. */
function startLoad({ url, adminUrl }: Front, check: string, tenant: Tenant) {
  const agents: (HttpAgent | HttpsAgent)[] = [];
  const kinds: Record<string, Outcomes> = {};
  const run = (kind: string, pauseMs: number, once: (agent: HttpAgent) => Promise<Reply>) => {
    const outcomes: Outcomes = new Map();
    kinds[kind] = outcomes;
    const Agent = url.startsWith('https:') ? HttpsAgent : HttpAgent;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    return repeatCalls(pauseMs, async () => {
      const outcome = await outcomeOf(once(agent));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    });
  };
  const asDevice = (agent: HttpAgent | false) =>
    ask(url + check, { headers: { 'x-service-device': randomUUID() }, agent });
  const reportOf = () => {
    const devices = [{ deviceId: randomUUID(), version: '1.0.0', platform: 'linux' }];
    return JSON.stringify({ app: tenant.app, devices });
  };
  const headers = { authorization: `Bearer ${tenant.secret}` };
  const clients = [
    ...Array.from({ length: CLIENTS }, (_, n) => run(`device ${n}`, 10, asDevice)),
    run('new connections', 20, () => asDevice(false)),
    run('publisher', 500, (agent) =>
      ask(`${url}/api/v1/fleet/report`, { method: 'POST', body: reportOf(), headers, agent }),
    ),
    run('operator', 200, (agent) => ask(`${adminUrl}/console/api/session`, { agent })),
  ];
  return {
    /** Whether each client has had an answer. */
    haveAllAsked: () => Object.values(kinds).every((outcomes) => outcomes.size > 0),
    async end(): Promise<Record<string, Outcomes>> {
      await Promise.all(clients.map((client) => client.end()));
      for (const agent of agents) agent.destroy();
      return kinds;
    },
  };
}
