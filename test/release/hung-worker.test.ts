// Tests what the supervisor does about a process that hangs (docs/operating/processes.md): silent for ten
// seconds, it is replaced, and the admin address answers meanwhile; it does not keep the service from ending.
// Which silence counts: test/node/watchdog.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress } from '../support/admin-address.ts';
import { eventually } from '../support/eventually.ts';
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

const CONNECTIONS = 32;
/** So long that only a process that hangs does not answer. */
const ANSWER_MS_MAX = 5000;
/** Time in which SIGTERM ends the service (docs/operating/health.md). */
const STOP_MS_MAX = 10_000;
const SILENT = 'sluice_process_events_total{event="silent",process="supervisor"}';

describeOnWorkers('a process that hangs', () => {
  let stores: Stores;
  let node: WorkerNode;
  /** Processes that a test has stopped: one that stays so would never end. */
  const stopped: number[] = [];

  beforeAll(async () => {
    stores = await freshStores();
    node = await startWorkerNode(stores, { WORKERS: '2', ...ADMIN_APART });
  });
  afterAll(async () => {
    thaw();
    await node?.dispose();
    await stores?.drop();
  });

  function stop(processId: number): void {
    process.kill(processId, 'SIGSTOP');
    stopped.push(processId);
  }

  function thaw(): void {
    for (const each of stopped.splice(0)) if (isAlive(each)) process.kill(each, 'SIGCONT');
  }

  const lastOf = (part: string) => node.processIds(part).at(-1) ?? Number.NaN;
  const linesOf = (message: string) => node.log().filter(({ msg }) => msg === message);
  const ask = (path: string) => send(adminAddress(node.log()), 'GET', path);

  it('is replaced after 10 s: every address of operators answers, and connections go to the others', async () => {
    const [hung, other] = [lastOf('worker 1'), lastOf('worker 2')];
    stop(hung);
    stop(other);
    await expectAdmin(503);
    process.kill(other, 'SIGCONT');
    await eventually('the node is ready again', async () => (await ask('/readyz')).status === 200);
    await expectAdmin(200);
    await eventually('the worker is another process', () => lastOf('worker 1') !== hung);
    await eventually('every new connection is answered', areAllAnswered);
    expect(lastOf('worker 2')).toBe(other);
    expect(linesOf('a process does not answer and is killed')).toMatchObject([
      { process: 'worker 1', silentMs: 10_000 },
    ]);
    expect(linesOf('a process ended by itself')).toMatchObject([
      { process: 'worker 1', how: 'SIGKILL', reason: 'it hung' },
    ]);
    const text = await metricsOf(adminAddress(node.log()));
    for (const event of ['hung', 'restarted']) {
      expect(text).toContain(`sluice_process_events_total{event="${event}"} 1\n`);
    }
  });

  /** Expects every address of operators to answer within seconds, whatever hangs. */
  async function expectAdmin(ready: number): Promise<void> {
    const paths = ['/healthz', '/readyz', '/metrics', '/console', '/console/api/session'];
    const { url } = adminAddress(node.log());
    const answers = paths.map(async (path) => {
      const response = await fetch(url + path, { signal: AbortSignal.timeout(20_000) });
      return [response.status, await response.text()];
    });
    const notReady = '{"error":"no serving process answers"}';
    expect(await Promise.all(answers)).toEqual([
      [200, expect.any(String)],
      [ready, ready === 503 ? notReady : expect.any(String)],
      [200, expect.stringContaining(SILENT)],
      [200, expect.stringContaining('<title>Sluice')],
      [200, '{"state":"setup"}'],
    ]);
  }

  /** Returns whether each of many new connections gets its answer. */
  async function areAllAnswered(): Promise<boolean> {
    const outcomes = Array.from({ length: CONNECTIONS }, () =>
      fetch(`${node.url}/healthz`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    return (await Promise.all(outcomes)).every((isAnswered) => isAnswered);
  }

  it('is left out of the metrics; without the supervisor they are 503, and serving goes on', async () => {
    const before = (await ask('/metrics')).text;
    const silentBefore = Number(before.split(`${SILENT} `)[1]?.split('\n')[0]);
    stop(lastOf('background'));
    const { status, text } = await ask('/metrics');
    expect([status, text]).toEqual([200, expect.stringContaining('sluice_checks_total')]);
    expect(text).toContain(`${SILENT} ${silentBefore + 1}\n`);
    stop(node.main.pid ?? 0);
    const refused = await ask('/metrics');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await send(node, 'GET', '/healthz')).status).toBe(200);
    thaw();
    await eventually('all answer again', async () => (await ask('/metrics')).status === 200);
  });

  it('does not keep the service from ending within 10 s of SIGTERM (Health)', async () => {
    const [frozen, other] = [lastOf('worker 1'), lastOf('worker 2')];
    stop(frozen);
    const at = performance.now();
    node.main.kill('SIGTERM');
    expect(await node.exitCode).toBe(0);
    expect(performance.now() - at).toBeLessThan(STOP_MS_MAX);
    expect(isAlive(other)).toBe(false);
    await eventually('the frozen one is gone too', () => {
      thaw();
      return !isAlive(frozen);
    });
  });
});
