// The service with every rule on, beside servers that decide nothing: node:http and fastify with one
// comparison, and uWebSockets.js without even that.

import autocannon from 'autocannon';
import { startGenerator } from '../load/generator.ts';
import { deviceId } from '../load/question.ts';
import { repetition, type SideServer, sideOf, warmSides } from '../measure/closed-loop.ts';
import { waitUntilIdle } from '../measure/patience.ts';
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
import { CONNECTIONS, insertScenarios, type Scenario, scenarios } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';

const PEERS = [
  ['bare uWebSockets.js', 'floor-server'],
  ['node:http', 'node-http-server'],
  ['fastify', 'fastify-server'],
] as const;

const DEVICES_PER_CONNECTION = 400;

export const peers: Benchmark = {
  name: 'peers',
  title:
    'the service beside servers that answer a constant (128 connections, server on one processor)',
  explanation: [
    'requests/s: by our generator; by node:http: against node:http, and cpu the same in CPU per request.',
    'autocannon: requests/s as autocannon counts them. It is full at about 86,000/s on one core, so what is',
    'quicker than that looks alike to it: it is here because others publish its figures.',
  ],
  async run({ isSmoke }) {
    const service = await startBenchService(insertScenarios);
    try {
      return await measurePeers(service, isSmoke);
    } finally {
      await service.dispose();
    }
  },
};

async function measurePeers(service: BenchService, isSmoke: boolean): Promise<Report> {
  const [scenario] = scenarios(isSmoke);
  if (scenario === undefined) throw new Error('no scenario');
  const { checksum, first } = await probe(service.node.url, scenario.question, 200);
  const generator = startGenerator();
  const started: ChildServer[] = [];
  try {
    const servers: (SideServer & { readonly name: string })[] = [];
    for (const [name, file] of PEERS) {
      const server = await startPinnedServer(file, first, service.gc.environment);
      started.push(server);
      servers.push({ name, pids: [server.pid], port: server.port });
    }
    const { pid, port } = service;
    servers.push({ name: 'the service', pids: [pid], port, backgroundPids: service.place() });
    const loop = {
      ...scenario,
      connections: CONNECTIONS,
      seconds: isSmoke ? 0.3 : 0.5,
      warmupSeconds: isSmoke ? 0.1 : 0.4,
    };
    const sides = servers.map((server) => sideOf(server.name, server, loop));
    await warmSides(generator, sides);
    const options = repetition(isSmoke, service.recording);
    const summaries = await alternate(generator, sides, options);
    const counts: Count[] = [];
    for (const server of servers) {
      await waitUntilIdle(options.patience);
      counts.push(await countByAutocannon(server, scenario, isSmoke ? 1 : 3));
    }
    const base = summaries[1];
    if (base === undefined) throw new Error('node:http was not measured');
    const rows = summaries.map((summary, index) =>
      rowOf(servers[index]?.name ?? '', summary, base, counts[index]?.rps ?? Number.NaN, checksum),
    );
    const remarks = counts.flatMap(({ remark }) => remark ?? []);
    return { tables: [{ rows }], remarks, ...failureOf(summaries) };
  } finally {
    await generator.end();
    await Promise.all(started.map((server) => server.end()));
  }
}

/** Requests a second by autocannon's count; NaN, with a remark on the reason, when it met errors. */
type Count = { readonly rps: number; readonly remark?: string };

/** Checks one address as so many devices that none comes near its limit. */
async function countByAutocannon(
  { name, port }: { readonly name: string; readonly port: number },
  { question }: Scenario,
  duration: number,
): Promise<Count> {
  let device = 0;
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${question.paths[0]}`,
    connections: CONNECTIONS,
    duration,
    setupClient(client) {
      const requests = Array.from({ length: DEVICES_PER_CONNECTION }, () => {
        device += 1;
        return { headers: { 'x-service-device': deviceId(device) } };
      });
      client.setRequests(requests);
    },
  });
  const { non2xx, errors, requests } = result;
  if (non2xx + errors === 0) return { rps: requests.average };
  const remark = `autocannon on ${name} does not count: ${non2xx} refused, ${errors} errors`;
  return { rps: Number.NaN, remark };
}

function rowOf(
  name: string,
  summary: SideSummary,
  base: SideSummary,
  counted: number,
  checksum: string,
): Row {
  return {
    server: name,
    'requests/s': Math.round(summary.rps),
    'by node:http': ratioOf(summary, base, ({ rps }) => rps),
    cpu: ratioOf(summary, base, ({ cpuUs }) => 1 / cpuUs),
    'us/request': summary.cpuUs,
    busy: summary.serverShare,
    'p50 us': Math.round(percentileUs(summary, 0.5)),
    'p99 us': Math.round(percentileUs(summary, 0.99)),
    autocannon: Math.round(counted),
    rejected: summary.rejected,
    checksum,
  };
}
