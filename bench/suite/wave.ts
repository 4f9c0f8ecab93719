// Decisions a second from 500-device calls to `/api/v1/fleet/decisions`, beside checks of the same devices
// one by one on `/u`. The decisions are compared: faster must not mean different.

import { eventually } from '../../test/support/eventually.ts';
import type { ServingNode } from '../../test/support/node.ts';
import { createTenant, type Tenant } from '../../test/support/tenant.ts';
import type { Benchmark } from '../benchmark.ts';
import { askAll, checksumOf } from '../load/ask.ts';
import { deviceId } from '../load/question.ts';
import { median, medianRatio } from '../measure/statistics.ts';
import { seededRandom } from '../random.ts';
import type { Row } from '../report.ts';
import { readMetrics, withDeployment } from '../service/deployment.ts';

const SEED = 20_261_120;
const DEVICES_PER_CALL = 500;
const CONNECTIONS = 16;
const VERSIONS = ['0.9.0', '1.0.0', '1.1.0', '1.2.0'];
const PACE = { calls: 20, rounds: 5 };
const SMOKE = { calls: 2, rounds: 1 };

type Device = { readonly deviceId: string; readonly version: string };
type Devices = readonly Device[];
type Update = { readonly version: string } | null;

export const wave: Benchmark = {
  name: 'wave',
  title: 'decisions a second, planned as waves of 500 and asked one by one',
  reading: [
    'dry run: decides only; recorded: also makes the 500 devices durable before it answers;',
    `one by one: the same devices on /u over ${CONNECTIONS} connections. The answers of all three are equal,`,
    'or the run fails; ratio: against one by one, the median over alternated rounds.',
  ],
  run: ({ isSmoke }) =>
    withDeployment({ isPlaced: false }, async (deployment) => {
      const node = await deployment.startNode(await deployment.startStores());
      return { tables: [{ rows: await measure(node, isSmoke ? SMOKE : PACE) }] };
    }),
};

async function measure(node: ServingNode, { calls, rounds }: typeof PACE): Promise<Row[]> {
  const tenant = await createTenant(node);
  await tenant.publish('1.0.0');
  await tenant.publish('1.1.0');
  await tenant.publish('1.2.0', { rollout: 20 });
  const random = seededRandom(SEED);
  const devices = Array.from({ length: calls * DEVICES_PER_CALL }, (_, index) => ({
    deviceId: deviceId(index),
    version: VERSIONS[Math.floor(random() * VERSIONS.length)] ?? '1.0.0',
  }));
  const rates: Record<string, number[]> = { 'dry run': [], recorded: [], 'one by one': [] };
  for (let round = 0; round < rounds; round++) {
    const key = await tenant.anotherKey();
    const answers = new Set<string>();
    const timed = async (way: string, work: () => Promise<Update[]>) => {
      const start = performance.now();
      const made = await work();
      rates[way]?.push(devices.length / ((performance.now() - start) / 1000));
      answers.add(JSON.stringify(made));
    };
    await timed('one by one', () => askOneByOne(node, tenant, devices));
    await untilRecorded(node);
    await timed('dry run', () => planWaves(key, devices, true));
    await timed('recorded', () => planWaves(key, devices, false));
    if (answers.size > 1) throw new Error('decisions differ between waves and /u');
  }
  // Taken over the devices: cohorts, and so the decisions, follow from release ids, new in every run.
  const checksum = checksumOf([JSON.stringify(devices)]);
  return Object.entries(rates).map(([way, values]) => ({
    way,
    'decisions/s': Math.round(median(values)),
    ratio: medianRatio(values, rates['one by one'] ?? []),
    devices: devices.length,
    checksum,
  }));
}

/** Waits until the check-ins of single checks are recorded: recording would disturb the next measurement. */
async function untilRecorded(node: ServingNode): Promise<void> {
  await eventually('the check-ins are recorded', async () => {
    const value = await readMetrics(node);
    const outcome = (name: string) => value(`sluice_check_ins_total{outcome="${name}"}`);
    return value('sluice_check_ins_held') === 0 && outcome('stored') >= outcome('accepted');
  });
}

async function planWaves(tenant: Tenant, devices: Devices, dryRun: boolean) {
  const updates: Update[] = [];
  for (let from = 0; from < devices.length; from += DEVICES_PER_CALL) {
    const part = devices.slice(from, from + DEVICES_PER_CALL);
    const asked = part.map((device) => ({ ...device, platform: 'linux', arch: 'x86_64' }));
    const answer = await tenant.decisions(asked, { dryRun });
    if (answer.status !== 200) throw new Error(`wave: ${answer.status} ${answer.text}`);
    const { decisions: made } = answer.body as { decisions: { update: Update }[] };
    updates.push(...made.map(({ update }) => update));
  }
  return updates;
}

async function askOneByOne(node: ServingNode, { app }: Tenant, devices: Devices) {
  const url = `${node.url}/u/${app}/stable/linux/x86_64`;
  const answers = await askAll(CONNECTIONS, devices.length, (index) => {
    const device = devices[index] as Device;
    return { url: `${url}/${device.version}`, device: device.deviceId };
  });
  return answers.map(({ status, body }) => {
    if (status !== 200 && status !== 204) throw new Error(`check: ${status}`);
    return status === 204 ? null : (JSON.parse(body) as Update);
  });
}
