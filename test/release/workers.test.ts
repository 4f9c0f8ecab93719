// Tests several processes as one service (docs/operating/processes.md): they share the port and the work,
// one that dies is started again without harm to the others, all stop together, and none outlives the
// supervisor.

import { request } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { SLUICE_COMMAND } from '../support/sluice-command.ts';
import { createTenant, publish, send, type Tenant } from '../support/tenant.ts';
import {
  Connections,
  describeOnWorkers,
  freshStores,
  isAlive,
  partOf,
  type Stores,
  startWorkerNode,
  WORKERS_ONLY,
  type WorkerNode,
} from '../support/worker-node.ts';

/** Serving processes of a node. */
const COUNT = 3;

/**
 * Waits until the release is offered over every connection, and so by every process: a process whose first
 * offer takes long on a busy machine answers 503, and the client asks again.
 */
async function untilOffered(connections: Connections, address: string): Promise<void> {
  const waits = Array.from({ length: connections.count }, (_, connection) =>
    eventually('the release is offered', async () => {
      const headers = { 'x-service-device': `first-${connection}` };
      return (await connections.ask(connection, address, headers)).status === 200;
    }),
  );
  await Promise.all(waits);
}

describeOnWorkers('workers on one port', () => {
  let stores: Stores;
  let node: WorkerNode;
  let tenant: Tenant;
  let connections: Connections;
  const parts = [
    ...Array.from({ length: COUNT }, (_, index) => `worker ${index + 1}`),
    'background',
  ];

  beforeAll(async () => {
    stores = await freshStores();
    node = await startWorkerNode(stores, { WORKERS: String(COUNT) });
    tenant = await createTenant(node);
    expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
    connections = new Connections(64);
    await untilOffered(connections, checkAddress());
  });
  afterAll(async () => {
    connections?.close();
    await node?.dispose();
    await stores?.drop();
  });

  const checkAddress = () => `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
  const checkOver = (connection: number, device: string) =>
    connections.ask(connection, checkAddress(), { 'x-service-device': device });

  it('are that many processes, one for the background work, and one line that says it listens', () => {
    expect(new Set(parts.flatMap((part) => node.processIds(part))).size).toBe(COUNT + 1);
    expect(node.log().filter(({ msg }) => msg === 'listening')).toHaveLength(1);
  });

  it('all serve: every connection is answered, and every process comes to hold the channel', async () => {
    const answers = await Promise.all(
      Array.from({ length: 256 }, (_, index) => checkOver(index, `serving-${index}`)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    // The process that created the channels also holds the app's other channel.
    expect(await sampleOf('sluice_catalogs')).toBe(COUNT + 1);
  });

  it('their metrics add up, whichever process is asked', async () => {
    const name = 'sluice_checks_total{reason="offered"}';
    const before = await sampleOf(name);
    const asked = 500;
    await Promise.all(
      Array.from({ length: asked }, (_, index) => checkOver(index, `counted-${index}`)),
    );
    for (let round = 0; round < 8; round++) expect(await sampleOf(name)).toBe(before + asked);
    // The supervisor, the workers and the background process.
    expect(await sampleOf('sluice_processes')).toBe(COUNT + 2);
  });

  it('check-ins of all of them are recorded by the background process, and counted in the sum', async () => {
    await Promise.all(Array.from({ length: 200 }, (_, index) => checkOver(index, `kept-${index}`)));
    await eventually(
      '200 devices are in PostgreSQL',
      async () => (await countDevices(node, 'kept-')) === 200,
    );
    await eventually('they are counted', async () => {
      const stored = await sampleOf('sluice_check_ins_total{outcome="stored"}');
      return stored >= 200;
    });
  });

  it('the background process dies: it is started again, and check-ins still arrive', async () => {
    await node.killPart('background');
    await Promise.all(Array.from({ length: 50 }, (_, index) => checkOver(index, `late-${index}`)));
    await eventually(
      '50 devices are in PostgreSQL',
      async () => (await countDevices(node, 'late-')) === 50,
      // The batches that the dead process had taken are taken over after 30 s.
      60_000,
    );
    expect(node.processIds('background')).toHaveLength(2);
    expect(node.main.exitCode).toBeNull();
  });

  it('a worker dies under traffic: only its own connections break, once each, and it comes back', async () => {
    const failures = new Map<number, number>();
    let answered = 0;
    let isOver = false;
    const clients = Array.from({ length: connections.count }, async (_, connection) => {
      for (let turn = 0; !isOver; turn++) {
        const outcome = await checkOver(connection, `client-${connection}-${turn}`).catch(() => {
          failures.set(connection, (failures.get(connection) ?? 0) + 1);
        });
        if (outcome !== undefined) {
          expect(outcome.status).toBe(200);
          answered += 1;
        }
        await sleep(5);
      }
    });
    await eventually('traffic', () => answered > 200);
    await node.killPart('worker 1');
    const before = answered;
    await eventually('the others go on', () => answered > before + 500);
    await eventually('it is back', () => node.processIds('worker 1').length === 2);
    isOver = true;
    await Promise.all(clients);
    expect(failures.size).toBeLessThan(connections.count);
    expect([...failures.values()].filter((times) => times > 1)).toEqual([]);
    expect(await sampleOf('sluice_process_events_total{event="restarted"}')).toBe(2);
    const lines = node.log().filter(({ msg }) => msg === 'a process ended by itself');
    expect(lines.map(({ process, how }) => [process, how])).toEqual([
      ['background', 'SIGKILL'],
      ['worker 1', 'SIGKILL'],
    ]);
  });

  it('log lines of a worker say which it is, those of the background that they are its', () => {
    const lines = node.log().filter(({ pid }) => pid !== node.main.pid);
    expect(lines.length).toBeGreaterThan(COUNT);
    for (const line of lines) {
      expect(node.processIds(String(partOf(line))), JSON.stringify(line)).toContain(line.pid);
    }
  });

  async function sampleOf(name: string): Promise<number> {
    const text = await metricsOf(node);
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  }
});

describeOnWorkers('the end of several workers', () => {
  let stores: Stores;
  let node: WorkerNode;
  let tenant: Tenant;

  beforeAll(async () => {
    stores = await freshStores();
    node = await startWorkerNode(stores, { WORKERS: '3' });
  });
  afterAll(async () => {
    await node?.dispose();
    await stores?.drop();
  });
  beforeEach(async () => {
    await start();
    tenant = await createTenant(node);
    expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
  });

  /** Starts the node again if a test has ended it. */
  async function start(): Promise<void> {
    if (node.main.exitCode === null && node.main.signalCode === null) return;
    await node.dispose();
    node = await startWorkerNode(stores, { WORKERS: '3' });
  }

  function everyProcess(): number[] {
    const parts = ['worker 1', 'worker 2', 'worker 3', 'background'];
    return parts.map((part) => node.processIds(part).at(-1) ?? Number.NaN);
  }

  it('by a signal: they drain together, nothing that was answered is lost, exit 0', async () => {
    const connections = new Connections(32);
    const address = `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
    await untilOffered(connections, address);
    let answered = 0;
    const outcomes = new Map<string, number>();
    const clients = Array.from({ length: connections.count }, async (_, connection) => {
      for (let turn = 0; ; turn++) {
        const headers = { 'x-service-device': `ended-${connection}-${turn}` };
        const outcome = await connections.ask(connection, address, headers).then(
          ({ status }) => String(status),
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome !== '200') return;
        answered += 1;
      }
    });
    await eventually('traffic', () => answered > 300);
    const processes = everyProcess();
    node.main.kill('SIGTERM');
    expect(await node.exitCode).toBe(0);
    await Promise.all(clients);
    connections.close();
    // A refused connection is the end that clients should see.
    expect([...outcomes.keys()].sort()).toEqual(['200', 'ECONNREFUSED']);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(node.log().filter(({ msg }) => msg === 'stopped')).toHaveLength(1);
    await start();
    await eventually(
      'every answered check is recorded',
      async () => (await countDevices(node, 'ended-')) === answered,
      60_000,
    );
  });

  it('a publish whose body is still being sent is finished, though all others have nothing to do', async () => {
    const artifacts = [{ platform: 'linux', url: 'https://downloads.example.com/app' }];
    const release = { app: tenant.app, channel: 'stable', version: '2.0.0', artifacts };
    const body = JSON.stringify(release);
    const sent = request(`${node.url}/api/v1/releases`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${tenant.secret}`,
        'content-length': String(Buffer.byteLength(body)),
      },
    });
    const status = new Promise<number | undefined>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (response) => resolve(response.resume().statusCode));
    });
    await new Promise<void>((resolve) => sent.write(body.slice(0, 20), () => resolve()));
    // The worker of the connection must have accepted it before its port closes.
    await sleep(500);
    node.main.kill('SIGTERM');
    await eventually('the port is closed', () =>
      send(node, 'GET', '/healthz').then(
        () => false,
        () => true,
      ),
    );
    sent.end(body.slice(20));
    expect(await status).toBe(201);
    expect(await node.exitCode).toBe(0);
  });

  it('the supervisor is killed: every process ends at once, and the port is free', async () => {
    const processes = everyProcess();
    expect(processes).toHaveLength(4);
    node.main.kill('SIGKILL');
    await node.exitCode;
    await eventually('all are gone', () => !processes.some(isAlive), 5000);
    await new Promise<void>((resolve, reject) => {
      const other = createServer();
      other.once('error', reject);
      other.listen({ port: node.port, host: '127.0.0.1', exclusive: true }, () => {
        other.close(() => resolve());
      });
    });
  });

  it('a worker that gets a signal of its own goes on: the supervisor says when', async () => {
    for (const processId of everyProcess()) process.kill(processId, 'SIGTERM');
    await sleep(500);
    expect(everyProcess().every(isAlive)).toBe(true);
    expect((await send(node, 'GET', '/readyz')).status).toBe(200);
  });
});

describeOnRealStores('one serving process', () => {
  it('has the background work beside it, restarts it, and ends with it; the metrics are those of both', async () => {
    const stores = await freshStores();
    const node = await startWorkerNode(stores);
    try {
      const tenant = await createTenant(node);
      expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
      await node.killPart('background');
      await eventually('it is back', () => node.processIds('background').length === 2);
      const address = `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
      for (let index = 0; index < 20; index++) {
        const headers = { 'x-service-device': `alone-${index}` };
        expect((await fetch(address, { headers })).status).toBe(200);
      }
      await eventually('the sum says that they are stored', async () => {
        const text = await metricsOf(node);
        return text.includes('sluice_check_ins_total{outcome="stored"} 20\n');
      });
      expect(await countDevices(node, 'alone-')).toBe(20);
      const text = await metricsOf(node);
      expect(text).toContain('sluice_processes 2\n');
      const background = node.processIds('background').at(-1) ?? 0;
      node.main.kill('SIGTERM');
      expect(await node.exitCode).toBe(0);
      expect(isAlive(background)).toBe(false);
    } finally {
      await node.dispose();
      await stores.drop();
    }
  });

  it.skipIf(WORKERS_ONLY !== '')(
    `sluice serve starts workers like npm start (Command line)${WORKERS_ONLY}`,
    async () => {
      const stores = await freshStores();
      const node = await startWorkerNode(stores, { WORKERS: '2' }, [SLUICE_COMMAND, 'serve']);
      try {
        expect((await send(node, 'GET', '/readyz')).status).toBe(200);
        node.main.kill('SIGTERM');
        expect(await node.exitCode).toBe(0);
      } finally {
        await node.dispose();
        await stores.drop();
      }
    },
  );
});

async function countDevices(node: WorkerNode, prefix: string): Promise<number> {
  const client = new pg.Client({ connectionString: node.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM devices WHERE starts_with(device_id, $1)',
      [prefix],
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}
