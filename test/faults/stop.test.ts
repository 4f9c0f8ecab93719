// Tests the end of a node (docs/operating/health.md): requests in flight are finished, whatever the signal.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Backend, describeOnBackends, realStores } from '../support/backend.ts';
import { baseEnvironment } from '../support/base-environment.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { ask, outcomeOf, type Reply, replyTo } from '../support/http-ask.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { startRedis } from '../support/redis-server.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const CLIENT_COUNT = 16;

/**
 * The service of a suite. Every test ends the process, and the next one starts another on the same stores,
 * which shows that the last one left them sound.
 */
function serviceOf(backend: Backend) {
  let settings: NodeJS.ProcessEnv;
  const endings: (() => unknown)[] = [];
  let tenant: Tenant;
  let run: Run;

  beforeAll(async () => {
    const dataDir = temporaryFolder('sluice-stop-');
    endings.push(() => removeFolder(dataDir));
    settings = { DATA_DIR: dataDir };
    const real = realStores();
    if (backend.name !== 'embedded' && real !== undefined) {
      const [database, redis] = [await migratedDatabase(real.postgresUrl), await startRedis()];
      endings.push(database.drop, () => redis.stop());
      settings = { ...settings, DATABASE_URL: database.url, REDIS_URL: redis.url };
    }
    run = await launch(settings);
    tenant = await createTenant(run);
    expect((await tenant.at(run).publish('1.0.0')).status).toBe(201);
  });
  beforeEach(() => startWith({}));
  afterAll(async () => {
    run?.child.kill('SIGKILL');
    await run?.exitCode;
    for (const end of endings) await end();
  });

  /** Starts the service unless it runs with these settings and was not told to stop. */
  async function startWith(more: NodeJS.ProcessEnv): Promise<void> {
    if (run.isGoingOn() && Object.keys(more).length === 0) return;
    run.child.kill('SIGKILL');
    await run.exitCode;
    run = await launch({ ...settings, ...more });
  }

  return {
    run: () => run,
    tenant: () => tenant,
    startWith,
    says: (word: string) => eventually(word, () => run.stdout().includes(`"${word}"`)),
    /** Expects a good end: exit code 0, by itself before its time limit, and no request is served. */
    async expectGoodEnd(): Promise<void> {
      expect(await run.exitCode).toBe(0);
      expect(run.stdout()).toContain('"stopped"');
      await expect(fetch(`${run.url}/healthz`)).rejects.toThrow();
    },
    versions: () => tenant.at(run).versions(`app=${tenant.app}&per_page=100`),
    /** Asks as a new device, on a connection of the agent. */
    check: (agent: Agent, version: string, method = 'GET') =>
      ask(`${run.url}/u/${tenant.app}/stable/linux/x86_64/${version}`, {
        ...{ agent, method, headers: { 'x-service-device': randomUUID() } },
      }),
  };
}

describeOnBackends('stop', (backend) => {
  const service = serviceOf(backend);

  it('a publish whose body is still being sent is finished; meanwhile /readyz is 503, and new connections are refused (Health)', async () => {
    const open = new Agent({ keepAlive: true, maxSockets: 1 });
    const idle = new Agent({ keepAlive: true });
    for (const agent of [open, idle])
      expect((await ask(`${service.run().url}/readyz`, { agent })).status).toBe(200);
    const begun = await beginPublish(service.run().url, service.tenant(), '2.0.0');
    for (const each of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) {
      service.run().signal(each);
      await service.says('stopping');
    }
    const ready = await ask(`${service.run().url}/readyz`, { agent: open });
    expect([ready.status, JSON.parse(ready.text)]).toEqual([503, { error: 'draining' }]);
    // The answer is the last one on this connection, which is about to end: the client is told to leave it.
    expect(ready.headers.connection).toBe('close');
    await expect(ask(`${service.run().url}/readyz`)).rejects.toThrow(/ECONNREFUSED/);
    expect((await begun.finish()).status).toBe(201);
    await service.expectGoodEnd();
    for (const agent of [open, idle]) agent.destroy();
    const stopped = service
      .run()
      .stdout()
      .match(/"stopping"/g);
    expect(stopped).toHaveLength(1);
    await service.startWith({});
    expect(await service.versions()).toContain('2.0.0');
    expect((await service.tenant().at(service.run()).check('1.0.0')).body?.version).toBe('2.0.0');
  });
});

describeOnBackends('drain', (backend) => {
  const service = serviceOf(backend);

  it('a client that never finishes its request does not keep it from ending in time (Health)', async () => {
    const begun = await beginPublish(service.run().url, service.tenant(), '9.0.0');
    service.run().signal('SIGTERM');
    await service.expectGoodEnd();
    await expect(begun.finish()).rejects.toThrow();
    await service.startWith({});
    expect(await service.versions()).not.toContain('9.0.0');
  });

  it('with DRAIN_SECONDS it is not ready but goes on answering, and a balancer loses no request (Health)', async () => {
    await service.startWith({ DRAIN_SECONDS: '3' });
    const outcomes = new Map<string, number>();
    let isLast = false;
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENT_COUNT });
    const askOnce = async (): Promise<void> => {
      const reply = service.check(agent, '0.9.0').then((each) => {
        isLast ||= each.headers.connection === 'close';
        return each;
      });
      const outcome = await outcomeOf(reply);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    };
    const clients = repeatCalls(0, ...Array(CLIENT_COUNT).fill(askOnce));
    await eventually('clients are served', () => (outcomes.get('200') ?? 0) > 200);
    expect(isLast).toBe(false);
    service.run().signal('SIGTERM');
    // A balancer asks over a new connection each time, and sends clients elsewhere after a while.
    const ready = () => ask(`${service.run().url}/readyz`);
    await eventually('the balancer sees it', async () => (await ready()).status !== 200);
    const served = outcomes.get('200') ?? 0;
    await eventually('clients are served', () => (outcomes.get('200') ?? 0) > served + 200);
    const { status, text } = await ready();
    expect([status, JSON.parse(text)]).toEqual([503, { error: 'draining' }]);
    // One that wants to keep its connection: whoever asks to close it is not told to.
    const keeping = new Agent({ keepAlive: true });
    const fresh = await ask(`${service.run().url}/healthz`, { agent: keeping });
    keeping.destroy();
    expect([fresh.status, fresh.headers.connection, fresh.headers['keep-alive']]).toEqual([
      ...[200, 'close', undefined],
    ]);
    await clients.end();
    expect([isLast, [...outcomes.keys()]]).toEqual([true, ['200']]);
    await service.expectGoodEnd();
    expect(service.run().msSinceSignal()).toBeGreaterThan(2900);
    agent.destroy();
  });

  it('a second signal ends the wait of DRAIN_SECONDS, but not one that comes with the first (Health)', async () => {
    await service.startWith({ DRAIN_SECONDS: '3600' });
    service.run().signal('SIGTERM');
    service.run().signal('SIGTERM');
    await service.says('draining');
    await sleep(1500);
    expect(service.run().stdout()).not.toContain('"stopping"');
    service.run().signal('SIGINT');
    await service.expectGoodEnd();
  });

  it('of clients that ask without a pause none gets a reset instead of an answer (Health)', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENT_COUNT });
    const headers = { authorization: `Bearer ${service.tenant().secret}` };
    /** Kinds of requests, sent in turn, so that the end meets every client in every kind of answer. */
    const kinds = [
      () => service.check(agent, '0.9.0'),
      () => service.check(agent, '99.0.0'),
      () => service.check(agent, '0.9.0', 'HEAD'),
      () => ask(`${service.run().url}/api/v1/apps`, { agent, headers }),
    ];
    const seen = new Map<string, number>();
    const askOn = async (): Promise<void> => {
      for (let turn = 0; ; turn++) {
        const kind = kinds[turn % kinds.length] as () => Promise<Reply>;
        const outcome = await outcomeOf(kind());
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        if (!/^\d+$/.test(outcome)) return;
      }
    };
    const clients = Array.from({ length: CLIENT_COUNT }, askOn);
    await eventually(
      'all kinds of answers',
      () => (seen.get('200') ?? 0) > 200 && (seen.get('204') ?? 0) > 20,
    );
    service.run().signal('SIGTERM');
    await Promise.all(clients);
    await service.expectGoodEnd();
    agent.destroy();
    // A management limit (429) is no fault, and a refused connection is the end that clients should see.
    const good = ['200', '204', '429', 'ECONNREFUSED'];
    expect([...seen].filter(([outcome]) => !good.includes(outcome))).toEqual([]);
    expect(seen.get('ECONNREFUSED')).toBe(CLIENT_COUNT);
  });
});

type Run = {
  readonly url: string;
  readonly child: ChildProcess;
  readonly exitCode: Promise<number | null>;
  stdout(): string;
  /** Whether it runs and has no signal. */
  isGoingOn(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Milliseconds since the first signal. */
  msSinceSignal(): number;
};

/** Starts the service and waits until it listens. Unlike the harness's nodes it tells its exit code. */
async function launch(settings: NodeJS.ProcessEnv): Promise<Run> {
  const env = { ...baseEnvironment(), PORT: '0', ADMIN_TOKEN, ...settings };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  const exitCode = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const port = () => /"port":(\d+),"msg":"listening"/.exec(stdout)?.[1];
  await eventually('it listens', () => port() !== undefined || child.exitCode !== null);
  let signalledAt: number | undefined;
  return {
    url: `http://127.0.0.1:${port()}`,
    child,
    exitCode,
    stdout: () => stdout,
    isGoingOn: () =>
      signalledAt === undefined && child.exitCode === null && child.signalCode === null,
    signal(signal) {
      signalledAt ??= performance.now();
      child.kill(signal);
    },
    msSinceSignal: () => performance.now() - (signalledAt ?? 0),
  };
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
  // The reply is awaited later; until then a failure must not count as unhandled.
  reply.catch(() => undefined);
  await new Promise<void>((resolve) => sent.write(body.slice(0, 20), () => resolve()));
  // Bytes are served in the order in which they arrive: when later requests are answered, these bytes were
  // read.
  for (let round = 0; round < 3; round++) await ask(`${url}/healthz`);
  return {
    finish() {
      sent.end(body.slice(20));
      return reply;
    },
  };
}
