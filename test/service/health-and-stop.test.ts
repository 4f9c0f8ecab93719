// Health, metrics and the end of a node (operators: Health): what is in flight is finished, whatever the
// signal, and what was answered is still there after a crash.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends, realStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import {
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Reply = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
};
type Sample = { readonly name: string; readonly labels: string; readonly value: number };

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_MS_MAX = 10_000;
const TEST_TIMEOUT_MS = 90_000;
const CLIENT_COUNT = 16;

describeOnBackends('health', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it.each(['/healthz', '/readyz', '/metrics'])(
    '%s asks for no key, and HEAD answers alike (Health)',
    async (path) => {
      const [get, head] = [await send(node, 'GET', path), await send(node, 'HEAD', path)];
      expect([get.status, head.status, head.text]).toEqual([200, 200, '']);
      expect((await send(node, 'POST', path)).status).toBe(405);
    },
  );

  it('a node that can decide is alive and ready (Health)', async () => {
    expect((await send(node, 'GET', '/healthz')).body).toEqual({ status: 'ok' });
    expect((await send(node, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
  });

  it('metrics are Prometheus text: every sample has a TYPE and a number (Health)', async () => {
    const { headers, text } = await send(node, 'GET', '/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text.endsWith('\n')).toBe(true);
    const types = new Set(
      [...text.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/gm)].map(
        ([, name]) => name,
      ),
    );
    for (const { name } of samples(text)) {
      expect(types.has(name) || types.has(name.replace(/_(sum|count|bucket)$/, '')), name).toBe(
        true,
      );
    }
    for (const name of [
      'sluice_checks_total',
      'sluice_requests_total',
      'sluice_first_offers_total',
      'sluice_catalog_loads_total',
      'sluice_catalogs',
    ]) {
      expect(types, name).toContain(name);
    }
  });

  it('counters move with what happens: checks by reason, requests by status, first offers (Health)', async () => {
    const tenant = await createTenant(node);
    const before = await metrics();
    await publish(node, tenant, '1.1.0');
    for (let round = 0; round < 3; round++)
      await check(node, tenant, '1.0.0', { device: randomUUID() });
    for (let round = 0; round < 2; round++)
      await check(node, tenant, '1.1.0', { device: randomUUID() });
    await check(node, tenant, 'x');
    await manage(node, { secret: 'wrong' }, 'GET', 'apps');
    const after = await metrics();
    const moved = (name: string, labels: string): number => {
      const value = (all: readonly Sample[]) =>
        all.find((each) => each.name === name && each.labels === labels)?.value ?? 0;
      return value(after) - value(before);
    };
    expect(moved('sluice_checks_total', '{reason="offered"}')).toBe(3);
    expect(moved('sluice_checks_total', '{reason="up-to-date"}')).toBe(2);
    expect(moved('sluice_first_offers_total', '{outcome="recorded"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="201"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="400"}')).toBe(1);
    expect(moved('sluice_requests_total', '{status="401"}')).toBe(1);
  });

  async function metrics(): Promise<readonly Sample[]> {
    return samples((await send(node, 'GET', '/metrics')).text);
  }
});

describe('a node that knows nothing and reaches no store', () => {
  it('is alive, but not ready and says why; a check is 503 with Retry-After, never 404 or 204 (Health)', async () => {
    const node = await startNode({
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
    });
    try {
      expect((await send(node, 'GET', '/healthz')).status).toBe(200);
      const ready = await send(node, 'GET', '/readyz');
      expect([ready.status, ready.body?.error]).toEqual([
        503,
        expect.stringMatching(/ledger.*reached/),
      ]);
      const asked = await check(node, { app: 'some-app' }, '1.0.0');
      expect(asked.status).toBe(503);
      expect(Number(asked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await send(node, 'GET', '/metrics')).status).toBe(200);
    } finally {
      await node.dispose();
    }
  });
});

describeOnBackends('stop', (backend) => {
  let dataDir: string;
  let settings: NodeJS.ProcessEnv;
  let dropDatabase: () => Promise<void> = async () => undefined;
  let tenant: Tenant;
  let run: Run;

  /** Every test has a process of its own on the same stores, so it also shows they were left sound. */
  beforeAll(async () => {
    dataDir = temporaryFolder('sluice-stop-');
    settings = { DATA_DIR: dataDir };
    const real = realStores();
    if (backend.name !== 'embedded' && real !== undefined) {
      const database = await freshDatabase(real.postgresUrl);
      dropDatabase = database.drop;
      settings = { ...settings, DATABASE_URL: database.url, REDIS_URL: real.redisUrl };
    }
    run = await launch(settings);
    tenant = await createTenant(run);
    expect((await publish(run, tenant, '1.0.0')).status).toBe(201);
    run.child.kill('SIGTERM');
    expect(await run.exitCode).toBe(0);
  }, TEST_TIMEOUT_MS);
  afterEach(async () => {
    run.child.kill('SIGKILL');
    await run.exitCode;
  });
  afterAll(async () => {
    await dropDatabase();
    removeFolder(dataDir);
  });

  /** What a stop owes: exit code 0, in time, and nobody is served any more. */
  async function expectGoodEnd(): Promise<void> {
    expect(await run.exitCode).toBe(0);
    expect(run.msSinceSignal()).toBeLessThan(STOP_MS_MAX);
    expect(run.stdout()).toContain('"stopped"');
    await expect(fetch(`${run.url}/healthz`)).rejects.toThrow();
  }

  function isStopping(): Promise<void> {
    return eventually('it says that it stops', () => run.stdout().includes('"stopping"'));
  }

  async function versions(): Promise<unknown[]> {
    const list = await manage(run, tenant, 'GET', `releases?app=${tenant.app}&per_page=100`);
    return (list.body as { releases: { version: string }[] }).releases.map(
      ({ version }) => version,
    );
  }

  describe.each(['SIGTERM', 'SIGINT'] as const)('by %s', (signal) => {
    it(
      'with nothing in flight it ends with 0, though idle connections are open (Health)',
      async () => {
        run = await launch(settings);
        const idle = new Agent({ keepAlive: true });
        expect((await ask(run.url, '/readyz', { agent: idle })).status).toBe(200);
        run.signal(signal);
        await expectGoodEnd();
        expect(run.msSinceSignal()).toBeLessThan(STOP_MS_MAX / 2);
        idle.destroy();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'a publish whose body is still being sent is finished, and the release is there afterwards (Health)',
      async () => {
        run = await launch(settings);
        const version = signal === 'SIGTERM' ? '2.0.0' : '2.1.0';
        const begun = await beginPublish(run.url, tenant, version);
        run.signal(signal);
        await isStopping();
        expect((await begun.finish()).status).toBe(201);
        await expectGoodEnd();
        run = await launch(settings);
        expect(await versions()).toContain(version);
        expect((await check(run, tenant, '1.0.0')).body?.version).toBe(version);
      },
      TEST_TIMEOUT_MS,
    );
  });

  it(
    'while it drains /readyz is 503 on a connection that is open, and new connections are refused (Health)',
    async () => {
      run = await launch(settings);
      const open = new Agent({ keepAlive: true, maxSockets: 1 });
      expect((await ask(run.url, '/readyz', { agent: open })).status).toBe(200);
      const begun = await beginPublish(run.url, tenant, '2.2.0');
      run.signal('SIGTERM');
      await isStopping();
      const ready = await ask(run.url, '/readyz', { agent: open });
      expect([ready.status, JSON.parse(ready.text)]).toEqual([503, { error: 'draining' }]);
      // Its last answer: a client that stays on the connection would run into its end.
      expect(ready.headers.connection).toBe('close');
      await expect(ask(run.url, '/readyz')).rejects.toThrow(/ECONNREFUSED/);
      expect((await begun.finish()).status).toBe(201);
      await expectGoodEnd();
      open.destroy();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'more signals while it stops do no harm (Health)',
    async () => {
      run = await launch(settings);
      const begun = await beginPublish(run.url, tenant, '2.3.0');
      for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) {
        run.signal(signal);
        await isStopping();
      }
      expect((await begun.finish()).status).toBe(201);
      await expectGoodEnd();
      expect(run.stdout().match(/"stopping"/g)).toHaveLength(1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'a client that never finishes its request does not keep it from ending in time (Health)',
    async () => {
      run = await launch(settings);
      const begun = await beginPublish(run.url, tenant, '9.0.0');
      run.signal('SIGTERM');
      await expectGoodEnd();
      await expect(begun.finish()).rejects.toThrow();
      run = await launch(settings);
      expect(await versions()).not.toContain('9.0.0');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'of clients that ask without a pause none gets a reset instead of an answer (Health)',
    async () => {
      run = await launch(settings);
      const agent = new Agent({ keepAlive: true, maxSockets: CLIENT_COUNT });
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const check = (version: string, method = 'GET') =>
        ask(run.url, `/u/${tenant.app}/stable/linux/x86_64/${version}`, {
          agent,
          method,
          headers: { 'x-service-device': randomUUID() },
        });
      /** In turns, so that every client is met in every kind of answer. */
      const kinds = [
        () => check('0.9.0'),
        () => check('99.0.0'),
        () => check('0.9.0', 'HEAD'),
        () => ask(run.url, '/api/v1/apps', { agent, headers }),
      ];
      const seen = new Map<string, number>();
      const askOn = async (): Promise<void> => {
        for (;;) {
          for (const once of kinds) {
            const outcome = await once().then(
              ({ status }) => String(status),
              (error: NodeJS.ErrnoException) => error.code ?? error.message,
            );
            seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
            if (!/^\d+$/.test(outcome)) return;
          }
        }
      };
      const clients = Array.from({ length: CLIENT_COUNT }, askOn);
      await eventually(
        'all kinds of answers',
        () => (seen.get('200') ?? 0) > 200 && (seen.get('204') ?? 0) > 20,
      );
      run.signal('SIGTERM');
      await Promise.all(clients);
      await expectGoodEnd();
      agent.destroy();
      // A management limit (429) is no fault, a refused connection the end that clients should see.
      const faults = [...seen].filter(
        ([outcome]) => !['200', '204', '429', 'ECONNREFUSED'].includes(outcome),
      );
      expect(faults).toEqual([]);
      expect(seen.get('ECONNREFUSED')).toBe(CLIENT_COUNT);
    },
    TEST_TIMEOUT_MS,
  );
});

describeOnBackends('crash', (backend) => {
  let node: ServingNode;
  afterAll(() => node?.dispose());

  it(
    'after kill -9 and a restart all that was answered is there, also what was offered (Set-up, Offered)',
    async () => {
      node = await backend.start();
      const tenants = await Promise.all(Array.from({ length: 3 }, () => createTenant(node)));
      for (const tenant of tenants) {
        expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
        expect(
          (await publish(node, tenant, '1.1.0', { rollout: 50, notes: 'Größer 🚀' })).status,
        ).toBe(201);
        expect(
          (await publish(node, tenant, '1.2.0', { rollout: 50, status: 'paused' })).status,
        ).toBe(201);
        expect((await control(node, tenant, '1.0.0', { status: 'rolled_back' })).status).toBe(200);
        expect(
          (
            await admin(node, 'PATCH', 'channels', {
              app: tenant.app,
              name: 'beta',
              defaultRollout: 5,
            })
          ).status,
        ).toBe(200);
      }
      const before = await Promise.all(tenants.map((tenant) => recorded(node, tenant)));
      // The first offers are the last thing it does.
      const device = await Promise.all(tenants.map((tenant) => firstOffered(node, tenant)));
      await node.kill();
      node = await node.restart();
      expect(await Promise.all(tenants.map((tenant) => recorded(node, tenant)))).toEqual(before);
      for (const [index, tenant] of tenants.entries()) {
        const again = await check(node, tenant, '0.9.0', { device: device[index] ?? '' });
        expect(again.body).toMatchObject({ version: '1.1.0', notes: 'Größer 🚀' });
        const lowered = await control(node, tenant, '1.1.0', { rollout: 49 });
        expect([lowered.status, lowered.body?.error]).toEqual([
          422,
          expect.stringContaining('50%'),
        ]);
        // Never offered, so it may still be lowered.
        expect((await control(node, tenant, '1.2.0', { rollout: 10 })).status).toBe(200);
        expect((await control(node, tenant, '1.0.0', { status: 'published' })).status).toBe(409);
      }
    },
    TEST_TIMEOUT_MS,
  );

  /** Whatever the management and console API tell about a tenant. */
  async function recorded(from: ServingNode, tenant: Tenant): Promise<unknown[]> {
    const answers = await Promise.all([
      manage(from, tenant, 'GET', 'apps'),
      manage(from, tenant, 'GET', 'releases?per_page=100'),
      admin(from, 'GET', `audit?org=${tenant.org}&limit=1000`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    return answers.map(({ body }) => body);
  }

  /** Asks as one device after another until one is in the cohort; its id. */
  async function firstOffered(from: ServingNode, tenant: Tenant): Promise<string> {
    for (;;) {
      const device = randomUUID();
      if ((await check(from, tenant, '0.9.0', { device })).status === 200) return device;
    }
  }
});

type Run = {
  readonly url: string;
  readonly child: ChildProcess;
  readonly exitCode: Promise<number | null>;
  stdout(): string;
  signal(signal: NodeJS.Signals): void;
  /** Since the first signal. */
  msSinceSignal(): number;
};

/** Starts the service and waits until it listens. Unlike the harness's nodes it tells its exit code. */
async function launch(settings: NodeJS.ProcessEnv): Promise<Run> {
  const env = { PATH: process.env.PATH, PORT: '0', ADMIN_TOKEN, ...settings };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  const exitCode = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const port = () => /"port":(\d+),"msg":"listening"/.exec(stdout)?.[1];
  await eventually(
    'it listens',
    () => port() !== undefined || child.exitCode !== null,
    START_TIMEOUT_MS,
  );
  let signalledAt: number | undefined;
  return {
    url: `http://127.0.0.1:${port()}`,
    child,
    exitCode,
    stdout: () => stdout,
    signal(signal) {
      signalledAt ??= performance.now();
      child.kill(signal);
    },
    msSinceSignal: () => performance.now() - (signalledAt ?? 0),
  };
}

type AskOptions = {
  readonly agent?: Agent;
  readonly method?: string;
  readonly headers?: Record<string, string>;
};

/** A request on a connection of the agent's, or on one of its own. */
function ask(url: string, path: string, { agent, ...options }: AskOptions = {}): Promise<Reply> {
  const sent = request(url + path, { agent: agent ?? false, ...options });
  sent.end();
  return replyTo(sent);
}

function replyTo(sent: ClientRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
  });
}

/** Sends a publish up to the middle of its body and waits until the service has read that much. */
async function beginPublish(
  url: string,
  tenant: Tenant,
  version: string,
): Promise<{ finish(): Promise<Reply> }> {
  const artifacts = [{ platform: 'linux', url: 'https://downloads.example.com/app' }];
  const body = JSON.stringify({ app: tenant.app, channel: 'stable', version, artifacts });
  const sent = request(`${url}/api/v1/releases`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${tenant.secret}`,
      'content-length': String(Buffer.byteLength(body)),
    },
  });
  const reply = replyTo(sent);
  // Awaited later; until then a failure must not count as unhandled.
  reply.catch(() => undefined);
  await new Promise<void>((resolve) => sent.write(body.slice(0, 20), () => resolve()));
  // Connections are served in the order of their bytes: when later ones are answered, these were read.
  for (let round = 0; round < 3; round++) await ask(url, '/healthz');
  return {
    finish() {
      sent.end(body.slice(20));
      return reply;
    },
  };
}

/** The samples of a text in Prometheus' exposition format. */
function samples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] =
        /^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$/.exec(line) ?? [];
      expect(name, line).not.toBe('');
      // A gauge over no observations yet is NaN, which the format allows in any case.
      if (!/^nan$/i.test(value)) expect(Number(value), line).not.toBeNaN();
      return { name, labels, value: Number(value) };
    });
}
