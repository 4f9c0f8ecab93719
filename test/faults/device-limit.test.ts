// Tests the device limit on real processes (docs/contract.md 19.5): n of them let a device have at most
// 120 + (n - 1) x 12 requests in a minute, however they are spread over them. One process counts exactly:
// test/domain/fleet/sliding-window-limiter.test.ts.

import { expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { createTenant } from '../support/tenant.ts';
import {
  Connections,
  describeOnWorkers,
  freshStores,
  startWorkerNode,
} from '../support/worker-node.ts';

const LIMIT_COUNT = LIMIT.deviceRequestsPerMinute;
const WORKERS = 3;
const CONNECTIONS = 48;
const REQUESTS = 600;
const DEVICES = ['device-a', 'device-b', 'device-c'];
/** Device endpoints, which share one budget. */
const PATHS = ['u', 'e', 'feed'] as const;

type Asked = { readonly status: number; readonly at: number; readonly retryAfter: number };

/** Asks over a connection as a device; `path` is one of `PATHS`. */
type Ask = (connection: number, device: string, path?: string) => Promise<Asked>;

/** Starts a node with one release, and gives `use` a way to ask it as a device. */
async function withNode(workers: number, use: (ask: Ask) => Promise<void>): Promise<void> {
  const stores = await freshStores();
  const node = await startWorkerNode(stores, { WORKERS: String(workers) });
  const connections = new Connections(CONNECTIONS);
  try {
    const tenant = await createTenant(node, ['1.1.0']);
    const addresses: Readonly<Record<string, string>> = {
      u: `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`,
      e: `${node.url}/e/${tenant.app}/stable/latest.yml`,
      feed: `${node.url}/feed/${tenant.app}/stable`,
    };
    await use(async (connection, device, path = 'u') => {
      const answer = await connections.ask(connection, addresses[path] ?? '', {
        'x-service-device': device,
      });
      const retryAfter = Number(answer.headers['retry-after'] ?? Number.NaN);
      return { status: answer.status, at: performance.now(), retryAfter };
    });
  } finally {
    connections.close();
    await node.dispose();
    await stores.drop();
  }
}

describeOnWorkers('the limit of a device', () => {
  it('of n processes gives at least the limit, and at most (n - 1) allowances more, over all endpoints', async () => {
    await withNode(WORKERS, (ask) => expectBound(WORKERS, ask));
  });
});

/** Asks as a few devices over all connections, and expects each to have as many answers as it may have. */
async function expectBound(workers: number, ask: Ask): Promise<void> {
  const bound = LIMIT_COUNT + (workers - 1) * LIMIT.deviceAllowancePerMinute;
  const beganAt = performance.now();
  const admitted = new Map<string, number>();
  const refusals: Asked[] = [];
  const other: number[] = [];
  // Some connections are far busier than others, so that processes have unequal shares.
  const lanes = Array.from({ length: CONNECTIONS }, async (_, connection) => {
    const turns = Math.ceil(
      (REQUESTS * DEVICES.length * (1 + (connection % 3))) / (2 * CONNECTIONS),
    );
    for (let turn = 0; turn < turns; turn++) {
      const device = DEVICES[Math.floor(Math.random() * DEVICES.length)] ?? '';
      const path = PATHS[Math.floor(Math.random() * PATHS.length)] ?? 'u';
      const answer = await ask(connection, device, path);
      if (answer.status === 429) refusals.push(answer);
      else if (answer.status < 400 || answer.status === 404) {
        admitted.set(device, (admitted.get(device) ?? 0) + 1);
      } else other.push(answer.status);
    }
  });
  await Promise.all(lanes);
  // All requests must lie within one window, because the bound is per window.
  expect(performance.now() - beganAt).toBeLessThan(LIMIT.rateWindowMs);
  expect(other).toEqual([]);
  console.log(
    `device limit: ${workers} processes admitted ${[...admitted.values()].join(', ')} ` +
      `of about ${REQUESTS} each; at most ${bound}`,
  );
  for (const device of DEVICES) {
    expect(admitted.get(device), device).toBeGreaterThanOrEqual(LIMIT_COUNT);
    expect(admitted.get(device), device).toBeLessThanOrEqual(bound);
  }
  for (const { retryAfter } of refusals) {
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
  }
}
