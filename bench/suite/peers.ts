// The service with every rule on, beside servers that decide nothing: node:http and fastify with one
// comparison, and uWebSockets.js without even that.

import autocannon from 'autocannon';
import type { Benchmark } from '../benchmark.ts';
import { probe } from '../load/ask.ts';
import { deviceId } from '../load/question.ts';
import {
  CONNECTIONS,
  type Server,
  type SideSummary,
  sideFailures,
  sideOf,
  turnRatios,
} from '../measure/comparison.ts';
import { median } from '../measure/statistics.ts';
import { percentileColumns, type Report, type Row } from '../report.ts';
import { type Deployment, withScenarios } from '../service/deployment.ts';
import { type Scenario, scenarios } from '../service/scenarios.ts';

const PEERS = { 'bare uWebSockets.js': 'floor', 'node:http': 'node-http', fastify: 'fastify' };
const BASE = 'node:http';
const DEVICES_PER_CONNECTION = 400;
const PACE = {
  ...{ turns: { wanted: 3, retries: 2 }, seconds: 0.5, warmupSeconds: 0.4 },
  ...{ waitsMs: [45_000, 10_000] as [number, number], autocannonSeconds: 3 },
};
const SMOKE: typeof PACE = {
  ...{ turns: { wanted: 1, retries: 0 }, seconds: 0.3, warmupSeconds: 0.1 },
  ...{ waitsMs: [0, 0], autocannonSeconds: 1 },
};

export const peers: Benchmark = {
  name: 'peers',
  title: 'the service beside node:http and fastify, which answer a constant',
  reading: [
    'requests/s: by our generator; by node:http: against node:http, and cpu the same in CPU per request.',
    'autocannon: requests/s as autocannon counts them. It is full at about 86,000/s on one core, so what is',
    'quicker than that looks alike to it: it is here because others publish its figures.',
  ],
  run: ({ isSmoke }) =>
    withScenarios((deployment) => {
      const [scenario] = scenarios(isSmoke);
      return measurePeers(deployment, scenario as Scenario, isSmoke ? SMOKE : PACE);
    }),
};

async function measurePeers(
  deployment: Deployment,
  { question, expected }: Scenario,
  { turns, seconds, warmupSeconds, waitsMs, autocannonSeconds }: typeof PACE,
): Promise<Report> {
  const { checksum, first } = await probe(deployment.node.url, question, 200);
  const servers: Record<string, Server> = {};
  for (const [name, file] of Object.entries(PEERS)) {
    servers[name] = await deployment.startServer(`${file}-server`, first);
  }
  servers['the service'] = deployment.place();
  const comparison = deployment.comparison(...waitsMs);
  const loop = { question, expected, seconds, warmupSeconds };
  const sides = Object.entries(servers).map(([name, server]) => sideOf(name, server, loop));
  for (const side of sides) await comparison.warm(side, seconds);
  const summaries = await comparison.alternate(sides, turns);
  const base = summaries.find(({ name }) => name === BASE) as SideSummary;
  const rows: Row[] = [];
  const remarks: string[] = [];
  for (const summary of summaries) {
    const { name } = summary;
    await comparison.patience.waitUntilIdle();
    const url = `http://127.0.0.1:${servers[name]?.port}${question.paths[0]}`;
    const { refused, counted } = await countByAutocannon(url, autocannonSeconds);
    if (refused > 0) remarks.push(`autocannon on ${name} does not count: ${refused} errors`);
    rows.push({ ...rowOf(summary, base), autocannon: counted, checksum });
  }
  return { tables: [{ rows }], remarks, failures: sideFailures(summaries) };
}

/** Requests a second by autocannon's count; it asks as so many devices that none comes near its limit. */
async function countByAutocannon(url: string, duration: number) {
  let device = 0;
  const { non2xx, errors, requests } = await autocannon({
    ...{ url, duration, connections: CONNECTIONS },
    setupClient(client) {
      const next = () => ({ headers: { 'x-service-device': deviceId(++device) } });
      client.setRequests(Array.from({ length: DEVICES_PER_CONNECTION }, next));
    },
  });
  const refused = non2xx + errors;
  return { refused, counted: refused === 0 ? Math.round(requests.average) : Number.NaN };
}

function rowOf(summary: SideSummary, base: SideSummary): Row {
  return {
    ...{ server: summary.name, 'requests/s': Math.round(summary.rps) },
    'by node:http': median(turnRatios(summary, base, ({ rps }) => rps)),
    cpu: median(turnRatios(summary, base, ({ cpuUs }) => 1 / cpuUs)),
    ...{ 'us/request': summary.cpuUs, busy: summary.serverShare },
    ...percentileColumns(summary.percentileUs, 50, 99),
    rejected: summary.rejected,
  };
}
