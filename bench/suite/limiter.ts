// Measures the gain from counting devices in the process: compares the service with the same service made to
// ask Redis about every check, and with a server that does nothing but ask.

import { startNode } from '../../test/support/node.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { startGenerator } from '../load/generator.ts';
import { placeNode } from '../machine/place-process.ts';
import { repetition, type SideServer, sideOf, warmSides } from '../measure/closed-loop.ts';
import { GC_WATCH } from '../measure/gc-pauses.ts';
import type { Report, Row } from '../measure/report.ts';
import {
  alternate,
  failureOf,
  percentileUs,
  ratioOf,
  type SideSummary,
} from '../measure/rounds.ts';
import { type ChildServer, startPinnedServer } from '../servers/start-server.ts';
import { type BenchService, startBenchService } from '../service/bench-service.ts';
import { probe } from '../service/probe.ts';
import { watchRecording } from '../service/recording.ts';
import { CONNECTIONS, insertScenarios, scenarios } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';
import { countDevices } from './limiter/count-devices.ts';

const PRELOAD = new URL('../servers/script-per-request.mjs', import.meta.url).href;

export const limiter: Benchmark = {
  name: 'limiter',
  title: 'counting devices in the process, beside one Redis script per request',
  explanation: [
    'by script: requests/s against the same service made to wait for a Redis script per check; cpu: the',
    'same in CPU per request of the serving process. "only the script" decides nothing. Redis runs on the',
    'processor of the generator: where a server is less than 0.94 busy, compare cpu.',
  ],
  async run({ isSmoke }) {
    const service = await startBenchService(insertScenarios);
    try {
      return await measureLimiters(service, isSmoke);
    } finally {
      await service.dispose();
    }
  },
};

async function measureLimiters(service: BenchService, isSmoke: boolean): Promise<Report> {
  const [scenario] = scenarios(isSmoke);
  if (scenario === undefined) throw new Error('no scenario');
  const { checksum, first } = await probe(service.node.url, scenario.question, 200);
  const scripted = await startScripted(service);
  const recording = watchRecording([service.redisUrl, scripted.redisUrl]);
  const generator = startGenerator();
  let bare: ChildServer | undefined;
  try {
    const again = await probe(scripted.url, scenario.question, 200);
    if (again.checksum !== checksum) throw new Error('the two services answer differently');
    const environment = { BENCH_REDIS_URL: service.redisUrl };
    bare = await startPinnedServer('redis-limited-server', first, environment);
    const loop = {
      ...scenario,
      connections: CONNECTIONS,
      seconds: isSmoke ? 0.3 : 0.5,
      warmupSeconds: isSmoke ? 0.1 : 0.4,
    };
    const servers: [string, SideServer][] = [
      ['the service', { port: service.port, pids: [service.pid], backgroundPids: service.place() }],
      ['the service, with a script each', { ...scripted, pids: [scripted.pid] }],
      ['only the script', { port: bare.port, pids: [bare.pid] }],
    ];
    const sides = servers.map(([name, server]) => sideOf(name, server, loop));
    await warmSides(generator, sides);
    const summaries = await alternate(generator, sides, repetition(isSmoke, recording));
    const base = summaries[1];
    if (base === undefined) throw new Error('nothing was measured');
    const rows = summaries.map((summary, index) =>
      rowOf(servers[index]?.[0] ?? '', summary, base, checksum),
    );
    const counted = countDevices(isSmoke);
    const json = { limiter: { servers: rows, counting: counted } };
    const tables = [{ rows }, { title: 'counting one request, in process', rows: counted }];
    return { tables, json, ...failureOf(summaries) };
  } finally {
    recording.close();
    await generator.end();
    await bare?.end();
    await scripted.dispose();
  }
}

/**
 * Starts a second node that runs the script before every check. It has a Redis of its own: on a shared one,
 * each node would record the check-ins of the other.
 */
async function startScripted(service: BenchService) {
  const redis = await startRedis();
  const node = await startNode({
    DATABASE_URL: service.databaseUrl,
    REDIS_URL: redis.url,
    ...service.gc.environment,
    BENCH_REDIS_URL: redis.url,
    NODE_OPTIONS: `--import=${GC_WATCH} --import=${PRELOAD}`,
  });
  const { pid } = node.process;
  return {
    url: node.url,
    redisUrl: redis.url,
    port: Number(new URL(node.url).port),
    pid,
    backgroundPids: placeNode(pid),
    async dispose() {
      await node.dispose();
      await redis.stop();
    },
  };
}

function rowOf(name: string, summary: SideSummary, base: SideSummary, checksum: string): Row {
  return {
    server: name,
    'requests/s': Math.round(summary.rps),
    'by script': ratioOf(summary, base, ({ rps }) => rps),
    cpu: ratioOf(summary, base, ({ cpuUs }) => 1 / cpuUs),
    'us/request': summary.cpuUs,
    busy: summary.serverShare,
    'p50 us': Math.round(percentileUs(summary, 0.5)),
    'p99 us': Math.round(percentileUs(summary, 0.99)),
    rejected: summary.rejected,
    checksum,
  };
}
