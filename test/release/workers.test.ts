// Tests several processes as one service (docs/operating/processes.md): they share the port and the work,
// one that dies is started again without harm to the others, all stop together, and none outlives the
// supervisor. What every child process does: test/process/child-process.test.ts.

import { request } from 'node:http';
import { createServer } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { outcomeOf, replyTo } from '../support/http-ask.ts';
import { figureOf } from '../support/metrics.ts';
import { endWithSuite } from '../support/own.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { runOn } from '../support/run-on.ts';
import { SLUICE_COMMAND } from '../support/sluice-command.ts';
import { ARTIFACT, createTenant, type Tenant } from '../support/tenant.ts';
import {
  Connections,
  describeOnWorkers,
  freshStores,
  isAlive,
  partOf,
  type Stores,
  startWorkerNode,
  type WorkerNode,
} from '../support/worker-node.ts';

const PARTS = ['worker 1', 'worker 2', 'worker 3', 'background'];

describeOnWorkers('workers on one port', () => {
  let stores: Stores;
  let node: WorkerNode;
  let tenant: Tenant;
  let connections: Connections;

  beforeAll(async () => {
    stores = await freshStores();
    await start();
    tenant = await createTenant(node, ['1.1.0']);
    await untilAllOffer();
  });
  endWithSuite(() => [connections, node, stores]);

  async function start(): Promise<void> {
    await node?.dispose();
    connections?.close();
    node = await startWorkerNode(stores, { WORKERS: '3' }, [SLUICE_COMMAND, 'serve']);
    connections = new Connections(64);
  }

  const checkOver = (connection: number, device: string) =>
    connections.ask(connection, `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`, {
      'x-service-device': device,
    });

  /** Checks over all connections, which reach every process; returns the distinct statuses. */
  async function statusesOf(devices: string, count: number): Promise<readonly number[]> {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) => checkOver(index, `${devices}${index}`)),
    );
    return [...new Set(answers.map(({ status }) => status))];
  }

  /** Waits for every process: one whose first offer takes long on a busy machine answers 503. */
  function untilAllOffer(): Promise<void> {
    return eventually('every process offers the release', async () => {
      return `${await statusesOf('first-', connections.count)}` === '200';
    });
  }

  const lastIds = () => PARTS.map((part) => node.processIds(part).at(-1) ?? Number.NaN);

  it('are that many processes, one for the background work; one line says it listens, and each says which it is', async () => {
    expect(new Set(lastIds()).size).toBe(PARTS.length);
    expect(node.log().filter(({ msg }) => msg === 'listening')).toHaveLength(1);
    // Every process comes to hold the channel; the one that created it also holds the app's other one.
    expect(await figureOf(node, 'sluice_catalogs')).toBe(PARTS.length);
    const lines = node.log().filter(({ pid }) => pid !== node.main.pid);
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) {
      expect(node.processIds(String(partOf(line))), JSON.stringify(line)).toContain(line.pid);
    }
  });

  it('their metrics add up, whichever is asked, and the background process records check-ins of all', async () => {
    const name = 'sluice_checks_total{reason="offered"}';
    const before = await figureOf(node, name);
    expect(await statusesOf('kept-', 300)).toEqual([200]);
    for (let round = 0; round < 8; round++) expect(await figureOf(node, name)).toBe(before + 300);
    // The supervisor, the workers and the background process.
    expect(await figureOf(node, 'sluice_processes')).toBe(PARTS.length + 1);
    await untilRecorded(node, 'kept-', 300);
    await eventually('they are counted', async () => {
      return (await figureOf(node, 'sluice_check_ins_total{outcome="stored"}')) >= 300;
    });
  });

  it('the background process dies: it is started again, and check-ins still arrive', async () => {
    await node.killPart('background');
    await statusesOf('late-', 50);
    // The batches that the dead process had taken are taken over after 30 s.
    await untilRecorded(node, 'late-', 50);
    expect(node.processIds('background')).toHaveLength(2);
    expect(node.main.exitCode).toBeNull();
  });

  it('a worker dies under traffic: only its own connections break, once each, and it comes back', async () => {
    const failures = new Map<number, number>();
    let answered = 0;
    const client = (connection: number) => async (turn: number) => {
      const outcome = await checkOver(connection, `client-${connection}-${turn}`).catch(() => {
        failures.set(connection, (failures.get(connection) ?? 0) + 1);
      });
      if (outcome === undefined) return;
      expect(outcome.status).toBe(200);
      answered += 1;
    };
    const clients = repeatCalls(
      5,
      ...Array.from({ length: connections.count }, (_, at) => client(at)),
    );
    await eventually('traffic', () => answered > 200);
    await node.killPart('worker 1');
    const before = answered;
    await eventually('the others go on', () => answered > before + 500);
    await eventually('it is back', () => node.processIds('worker 1').length === 2);
    await clients.end();
    expect(failures.size).toBeLessThan(connections.count);
    expect([...failures.values()].filter((times) => times > 1)).toEqual([]);
    expect(await figureOf(node, 'sluice_process_events_total{event="restarted"}')).toBe(2);
    const lines = node.log().filter(({ msg }) => msg === 'a process ended by itself');
    expect(lines.map(({ process, how }) => [process, how])).toEqual([
      ['background', 'SIGKILL'],
      ['worker 1', 'SIGKILL'],
    ]);
  });

  it('at a signal they drain together: a publish that is still being sent is finished, nothing answered is lost', async () => {
    await untilAllOffer();
    let answered = 0;
    const outcomes = new Set<string>();
    const clients = Array.from({ length: connections.count }, async (_, connection) => {
      for (let turn = 0, outcome = '200'; outcome === '200'; turn++) {
        outcome = await outcomeOf(checkOver(connection, `ended-${connection}-${turn}`));
        outcomes.add(outcome);
        if (outcome === '200') answered += 1;
      }
    });
    const release = { app: tenant.app, channel: 'beta', version: '2.0.0', artifacts: [ARTIFACT] };
    const body = JSON.stringify(release);
    const sent = request(`${node.url}/api/v1/releases`, {
      ...{ method: 'POST', agent: false },
      headers: { authorization: `Bearer ${tenant.secret}`, 'content-length': body.length },
    });
    const reply = replyTo(sent);
    await new Promise<void>((resolve) => sent.write(body.slice(0, 20), () => resolve()));
    // The worker of its connection has accepted it before its port closes.
    await eventually('traffic', () => answered > 1000);
    const processes = lastIds();
    node.main.kill('SIGTERM');
    // A refused connection is the end that clients should see.
    await Promise.all(clients);
    expect([...outcomes].sort()).toEqual(['200', 'ECONNREFUSED']);
    sent.end(body.slice(20));
    expect((await reply).status).toBe(201);
    expect(await node.exitCode).toBe(0);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(node.log().filter(({ msg }) => msg === 'stopped')).toHaveLength(1);
    await start();
    await untilRecorded(node, 'ended-', answered);
  });

  it('the supervisor is killed: every process ends at once, and the port is free', async () => {
    const processes = lastIds();
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
});

/** Waits until so many devices whose ids begin with a prefix are in PostgreSQL. */
function untilRecorded(node: WorkerNode, prefix: string, devices: number): Promise<void> {
  const statement = `SELECT FROM devices WHERE starts_with(device_id, '${prefix}')`;
  let found = 0;
  return eventually(`${devices} devices are in PostgreSQL`, async () => {
    found = (await runOn(node.databaseUrl, statement)).length;
    return found === devices;
  }).catch((error) => {
    const told = node.log().filter(({ level }) => level !== 'info');
    throw new Error(`${found} were found; the node says: ${JSON.stringify(told)}`, {
      cause: error,
    });
  });
}
