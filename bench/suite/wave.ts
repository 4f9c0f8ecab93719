// Decisions a second from 500-device calls to `/api/v1/fleet/decisions`, beside checks of the same devices
// one by one on `/u`. The decisions are compared: faster must not mean different.

import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { eventually } from '../../test/support/eventually.ts';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { metricsOf } from '../../test/support/metrics.ts';
import { type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import {
  anotherKey,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../../test/support/tenant.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import { deviceIdOf, seededRandom } from '../random.ts';
import type { Benchmark } from './benchmark.ts';

const SEED = 20_261_120;
const DEVICES_PER_CALL = 500;
const CONNECTIONS = 16;
const VERSIONS = ['0.9.0', '1.0.0', '1.1.0', '1.2.0'];

type Device = { readonly deviceId: string; readonly version: string };
type Update = { readonly version: string } | null;

export const wave: Benchmark = {
  name: 'wave',
  title:
    'decisions per second, planned as waves of 500 and asked one by one (PostgreSQL and Redis)',
  explanation: [
    'dry run: decides only; recorded: also makes the 500 devices durable before it answers;',
    `one by one: the same devices on /u over ${CONNECTIONS} connections. The answers of all three are equal,`,
    'or the run fails; ratio: against one by one, the median over alternated rounds.',
  ],
  async run({ isSmoke }) {
    const [postgres, redis] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
    const database = await freshDatabase(postgres.url);
    const node = await startNode({ DATABASE_URL: database.url, REDIS_URL: redis.url });
    try {
      return await measure(node, isSmoke);
    } finally {
      await node.dispose();
      await Promise.all([postgres.stop(), redis.stop()]);
    }
  },
};

async function measure(node: ServingNode, isSmoke: boolean): Promise<Row[]> {
  const tenant = await createTenant(node);
  await publish(node, tenant, '1.0.0');
  await publish(node, tenant, '1.1.0');
  await publish(node, tenant, '1.2.0', { rollout: 20 });
  const calls = isSmoke ? 2 : 20;
  const rounds = isSmoke ? 1 : 5;
  const random = seededRandom(SEED);
  const devices = Array.from({ length: calls * DEVICES_PER_CALL }, () => ({
    deviceId: deviceIdOf(random),
    version: VERSIONS[Math.floor(random() * VERSIONS.length)] ?? '1.0.0',
  }));
  const rates: Record<string, number[]> = { 'dry run': [], recorded: [], 'one by one': [] };
  // Taken over the devices: cohorts, and so the decisions, follow from release ids, new in every run.
  const checksum = createHash('sha256').update(JSON.stringify(devices)).digest('hex').slice(0, 12);
  for (let round = 0; round < rounds; round++) {
    const key = await anotherKey(node, tenant);
    const single = await timed(devices, () => askOneByOne(node, tenant, devices));
    await untilRecorded(node);
    const dry = await timed(devices, () => planWaves(node, key, devices, true));
    const recorded = await timed(devices, () => planWaves(node, key, devices, false));
    demandEqual(single.answers, dry.answers);
    demandEqual(single.answers, recorded.answers);
    rates['one by one']?.push(single.rate);
    rates['dry run']?.push(dry.rate);
    rates.recorded?.push(recorded.rate);
  }
  const baseline = rates['one by one'] ?? [];
  return Object.entries(rates).map(([way, values]) => ({
    way,
    'decisions/s': Math.round(median(values)),
    ratio: median(values.map((value, index) => value / (baseline[index] ?? Number.NaN))),
    devices: devices.length,
    checksum,
  }));
}

/** Waits until the check-ins of single checks are recorded: recording would disturb the next measurement. */
async function untilRecorded(node: ServingNode): Promise<void> {
  await eventually('the check-ins are recorded', async () => {
    const text = await metricsOf(node);
    const valueOfLine = (name: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.slice(name.length) ?? 0,
      );
    const outcome = (name: string) => valueOfLine(`sluice_check_ins_total{outcome="${name}"}`);
    return valueOfLine('sluice_check_ins_held') === 0 && outcome('stored') >= outcome('accepted');
  });
}

async function timed(
  devices: readonly Device[],
  work: () => Promise<Update[]>,
): Promise<{ answers: Update[]; rate: number }> {
  const start = performance.now();
  const answers = await work();
  return { answers, rate: devices.length / ((performance.now() - start) / 1000) };
}

async function planWaves(
  node: ServingNode,
  tenant: Tenant,
  devices: readonly Device[],
  dryRun: boolean,
): Promise<Update[]> {
  const updates: Update[] = [];
  for (let from = 0; from < devices.length; from += DEVICES_PER_CALL) {
    const part = devices.slice(from, from + DEVICES_PER_CALL);
    const answer = await manage(node, tenant, 'POST', 'fleet/decisions', {
      app: tenant.app,
      dryRun,
      devices: part.map((device) => ({ ...device, platform: 'linux', arch: 'x86_64' })),
    });
    if (answer.status !== 200) throw new Error(`wave: ${answer.status} ${answer.text}`);
    const { decisions } = answer.body as { decisions: { update: Update }[] };
    updates.push(...decisions.map(({ update }) => update));
  }
  return updates;
}

async function askOneByOne(
  node: ServingNode,
  tenant: Tenant,
  devices: readonly Device[],
): Promise<Update[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const updates: Update[] = new Array(devices.length).fill(null);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < devices.length; index = next++) {
      updates[index] = await ask(agent, node, tenant, devices[index] as Device);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  agent.destroy();
  return updates;
}

function ask(agent: Agent, node: ServingNode, tenant: Tenant, device: Device): Promise<Update> {
  const url = `${node.url}/u/${tenant.app}/stable/linux/x86_64/${device.version}`;
  const headers = { 'x-service-device': device.deviceId };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        if (response.statusCode === 204) resolve(null);
        else if (response.statusCode === 200) resolve(JSON.parse(Buffer.concat(chunks).toString()));
        else reject(new Error(`check: ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

function demandEqual(left: readonly Update[], right: readonly Update[]): void {
  for (const [index, update] of left.entries()) {
    if (JSON.stringify(update) !== JSON.stringify(right[index])) {
      throw new Error(`decision ${index} differs between the wave and /u`);
    }
  }
}
