// Measures the end of a node one of whose processes does not answer: within the 10 seconds that SIGTERM
// promises (docs/operating/health.md).

import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  describeOnWorkers,
  freshStores,
  isAlive,
  startWorkerNode,
} from '../support/worker-node.ts';

const STOP_MS_MAX = 10_000;

describeOnWorkers('a process of the node that does not answer', () => {
  it('does not keep the service from ending in time', async () => {
    const stores = await freshStores();
    const node = await startWorkerNode(stores, { WORKERS: '2' });
    const [frozen = 0, other = 0] = ['worker 1', 'worker 2'].map((part) =>
      node.processIds(part).at(-1),
    );
    const thaw = () => isAlive(frozen) && process.kill(frozen, 'SIGCONT');
    try {
      process.kill(frozen, 'SIGSTOP');
      const at = performance.now();
      node.main.kill('SIGTERM');
      expect(await node.exitCode).toBe(0);
      expect(performance.now() - at).toBeLessThan(STOP_MS_MAX);
      expect(isAlive(other)).toBe(false);
      await eventually('the frozen one is gone too', () => {
        thaw();
        return !isAlive(frozen);
      });
    } finally {
      thaw();
      await node.dispose();
      await stores.drop();
    }
  });
});
