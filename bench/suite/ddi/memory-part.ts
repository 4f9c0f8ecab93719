// What Redis holds for a device that has told four attributes and has closed an action.

import type { Redis } from 'ioredis';
import { keys, notedIn } from '../../../test/support/redis-keys.ts';
import { deviceId } from '../../load/question.ts';
import { median } from '../../measure/statistics.ts';
import type { Report } from '../../report.ts';
import { type Deployment, withDeployment } from '../../service/deployment.ts';
import {
  askOnce,
  BEFORE,
  ddiQuestion,
  deviceAt,
  feedbackQuestion,
  putQuestion,
  startDdi,
} from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';

const BYTES_MAX = 400;
/** Devices, and the longest wait until all is recorded and the machine is quiet. */
const PACE = { devices: 20_000, settleMs: 60_000 };
const SMOKE: typeof PACE = { devices: 2000, settleMs: 5000 };
/** Devices before those that are counted, so that what is there once is there before them. */
const FIRST_SHARE = 0.1;
const SAMPLES = 200;
const ATTRIBUTES = { board: 'a', site: 'b', ring: 'c', revision: 'd' };
const LENGTH = 16;

export const memoryPart: Part = {
  name: 'memory',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: false }, (deployment) =>
      measure(deployment, isSmoke ? SMOKE : PACE),
    ),
};

async function measure(
  deployment: Deployment,
  { devices, settleMs }: typeof PACE,
): Promise<Report> {
  console.error(`  memory, ${devices} devices …`);
  const { node, tenant } = await startDdi(deployment);
  const redis = deployment.redis[0] as Redis;
  const first = Math.round(devices * FIRST_SHARE);
  const all = first + devices;
  const data = Object.fromEntries(
    Object.entries(ATTRIBUTES).map(([key, letter]) => [key, letter.repeat(LENGTH)]),
  );
  const usedBytes: number[] = [];
  for (const [skip, count] of [
    [0, first],
    [first, devices],
  ] as const) {
    const part = { skip, count };
    await askOnce(deployment, node, putQuestion(all, [BEFORE], data), part);
    await askOnce(deployment, node, ddiQuestion(all, [BEFORE]), part);
    // A device of neither: all have the same id of their first action.
    const other = deviceAt(node, all);
    await other.tell(data);
    const { deployment: id = '' } = await other.poll();
    const status = { execution: 'closed', result: { finished: 'success' }, details: [] };
    await askOnce(deployment, node, feedbackQuestion(all, [BEFORE], id, status), part);
    await deployment.patience(settleMs).waitUntilIdle();
    usedBytes.push(Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]));
  }
  const [before = 0, after = 0] = usedBytes;
  const bytes = await keyBytes(redis, tenant.appId, all);
  const noted = await countNoted(redis, tenant.appId, all);
  const remark = `memory: ${noted} of ${SAMPLES} devices were asked again, and have notes of their labels`;
  const rows = [
    figureRow('actions and labels', bytes, BYTES_MAX),
    figureRow('growth of used_memory', (after - before) / devices, BYTES_MAX),
  ];
  return {
    tables: [{ title: `bytes of Redis for a device, over ${devices} devices`, rows }],
    remarks: noted > 0 ? [remark] : [],
    json: { memory: rows },
  };
}

/** Returns the bytes of a device's key, as Redis tells them: the median of some devices. */
async function keyBytes(redis: Redis, appId: string, all: number) {
  const sizes = sampled(appId, all).map((name) =>
    redis.memory('USAGE', keys.device(name), 'SAMPLES', 0),
  );
  return median((await Promise.all(sizes)).map(Number));
}

/** Counts devices whose labels came twice: notes of them stay beside the labels for 15 minutes. */
async function countNoted(redis: Redis, appId: string, all: number): Promise<number> {
  const notes = sampled(appId, all).map((name) => notedIn(redis, keys.device(name)));
  return (await Promise.all(notes)).filter((labels) => labels.length > 0).length;
}

function sampled(appId: string, all: number) {
  return Array.from({ length: SAMPLES }, (_, index) => {
    return { appId, deviceId: deviceId(Math.floor((index * all) / SAMPLES)) };
  });
}
