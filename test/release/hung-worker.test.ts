// Tests what the supervisor does about a process that hangs (docs/operating/processes.md): silent for ten
// seconds, it is replaced; silent for less, or together with the whole machine, it is not. The admin address
// answers meanwhile.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress } from '../support/admin-address.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { send } from '../support/tenant.ts';
import {
  describeOnWorkers,
  freshStores,
  isAlive,
  type Stores,
  startWorkerNode,
  type WorkerNode,
} from '../support/worker-node.ts';

/** Parts of a node with one worker and an admin address. */
const PARTS = ['worker 1', 'admin', 'background'];
const CONNECTIONS = 32;
/** So long that only a process that hangs does not answer. */
const ANSWER_MS_MAX = 5000;

describeOnWorkers('a worker that hangs', () => {
  let stores: Stores;
  let node: WorkerNode;
  /** Node that stands still as a whole. */
  let suspended: WorkerNode;

  beforeAll(async () => {
    stores = await freshStores();
    [node, suspended] = await Promise.all([
      startWorkerNode(stores, { WORKERS: '2', ...ADMIN_APART }),
      startWorkerNode(stores, ADMIN_APART),
    ]);
  });
  afterAll(async () => {
    for (const each of stopped.splice(0)) if (isAlive(each)) process.kill(each, 'SIGCONT');
    await Promise.all([node?.dispose(), suspended?.dispose()]);
    await stores?.drop();
  });

  it('is replaced after 10 s; one that is silent for 6 s is not, and no process of a machine that stood still', async () => {
    const [hung = 0, busy = 0] = ['worker 1', 'worker 2'].map((part) => lastOf(node, part));
    const whole = PARTS.map((part) => lastOf(suspended, part));
    const suspending = suspend(suspended, whole, 12_000);
    const at = performance.now();
    for (const each of [hung, busy]) stop(each);
    await adminAnswers({ ready: 503 });
    await sleep(6000 - (performance.now() - at));
    process.kill(busy, 'SIGCONT');
    await eventually('the node is ready again', async () => {
      return (await send(adminAddress(node.log()), 'GET', '/readyz')).status === 200;
    });
    await adminAnswers({ ready: 200 });
    expect(node.processIds('worker 1')).toEqual([hung]);
    const isKilled = () => linesOf(node, 'a process does not answer and is killed').length > 0;
    await eventually('it is killed', isKilled);
    await eventually('every new connection is answered', () => answered(node));
    const isReplaced = () => node.processIds('worker 1').length === 2;
    await eventually('the worker is another process', isReplaced);
    expect(node.processIds('worker 2')).toEqual([busy]);
    expect(linesOf(node, 'a process does not answer and is killed')).toEqual([
      expect.objectContaining({ process: 'worker 1', silentMs: 10_000 }),
    ]);
    expect(linesOf(node, 'a process ended by itself')).toEqual([
      expect.objectContaining({ process: 'worker 1', how: 'SIGKILL', reason: 'it hung' }),
    ]);
    const text = await metricsOf(adminAddress(node.log()));
    expect(text).toContain('sluice_process_events_total{event="hung"} 1\n');
    expect(text).toContain('sluice_process_events_total{event="restarted"} 1\n');

    await suspending;
    expect(await answered(suspended)).toBe(true);
    expect(PARTS.flatMap((part) => suspended.processIds(part))).toEqual(whole);
  });

  /** Expects every address of operators to answer within seconds, whatever hangs. */
  async function adminAnswers({ ready }: { ready: number }): Promise<void> {
    const admin = adminAddress(node.log());
    const answers = ['/healthz', '/readyz', '/metrics', '/console', '/console/api/session'].map(
      async (path) => {
        const signal = AbortSignal.timeout(20_000);
        const response = await fetch(admin.url + path, { signal });
        return [path, response.status, await response.text()] as const;
      },
    );
    const [health, readiness, metrics, page, session] = await Promise.all(answers);
    expect(health?.slice(0, 2)).toEqual(['/healthz', 200]);
    expect(readiness?.slice(0, 2)).toEqual(['/readyz', ready]);
    if (ready === 503) expect(readiness?.[2]).toBe('{"error":"no serving process answers"}');
    expect(metrics?.[1]).toBe(200);
    expect(metrics?.[2]).toContain(
      'sluice_process_events_total{event="silent",process="supervisor"}',
    );
    expect([page?.[1], page?.[2]]).toEqual([200, expect.stringContaining('<title>Sluice')]);
    expect([session?.[1], session?.[2]]).toEqual([200, '{"state":"setup"}']);
  }
});

describeOnWorkers('a process of the node that does not answer', () => {
  let stores: Stores;
  let node: WorkerNode;
  beforeAll(async () => {
    stores = await freshStores();
  });
  afterAll(() => stores?.drop());
  afterEach(async () => {
    for (const processId of stopped.splice(0)) thaw(processId);
    await node?.dispose();
  });

  function thaw(processId: number): void {
    if (isAlive(processId)) process.kill(processId, 'SIGCONT');
  }

  it('is left out of the metrics and counted; without the supervisor they are 503, and serving goes on', async () => {
    node = await startWorkerNode(stores, { WORKERS: '2' });
    stop(node.processIds('background').at(-1) ?? 0);
    const { status, text } = await send(node, 'GET', '/metrics');
    expect(status).toBe(200);
    const silent = 'sluice_process_events_total{event="silent",process="supervisor"} 1\n';
    expect(text).toContain(silent);
    expect(text).toContain('sluice_checks_total');
    stop(node.main.pid ?? 0);
    const refused = await send(node, 'GET', '/metrics');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await send(node, 'GET', '/readyz')).status).toBe(200);
  });
});

/** Processes that a test has stopped: one that stays so would never end. */
const stopped: number[] = [];

function stop(processId: number): void {
  process.kill(processId, 'SIGSTOP');
  stopped.push(processId);
}

function lastOf(node: WorkerNode, part: string): number {
  return node.processIds(part).at(-1) ?? Number.NaN;
}

function linesOf(node: WorkerNode, message: string): Record<string, unknown>[] {
  return node.log().filter(({ msg }) => msg === message);
}

/** Stops all processes of a node for a time; the supervisor goes on first, the others 3 s after it. */
async function suspend(node: WorkerNode, children: readonly number[], ms: number): Promise<void> {
  const main = node.main.pid ?? Number.NaN;
  for (const each of [main, ...children]) stop(each);
  await sleep(ms);
  process.kill(main, 'SIGCONT');
  await sleep(3000);
  for (const each of children) process.kill(each, 'SIGCONT');
}

/** Returns whether each of many new connections gets its answer. */
async function answered(node: WorkerNode): Promise<boolean> {
  const outcomes = await Promise.all(
    Array.from({ length: CONNECTIONS }, () =>
      fetch(`${node.url}/healthz`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    ),
  );
  return outcomes.every((isAnswered) => isAnswered);
}
