// Polls at a constant rate while PostgreSQL is away: every answer must be what it was before.

import { Agent } from 'node:http';
import type { PostgresServer } from '../../../test/support/postgres-server.ts';
import { ask, askAll } from '../../load/ask.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { nthRequest, type Question } from '../../load/question.ts';
import { failuresOf, percentileColumns, type Report, type Row } from '../../report.ts';
import { type Deployment, withDeployment } from '../../service/deployment.ts';
import { callAtRate } from './call-at-rate.ts';
import {
  askOnce,
  BEFORE,
  type DdiService,
  ddiQuestion,
  deviceAt,
  NEWEST,
  putQuestion,
  startDdi,
} from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';

/** Devices in thirds: on the newest version, with an open action, and barred after a closing. */
const VERSIONS = [NEWEST, BEFORE, BEFORE];
const BARRED_PLACE = 2;
const PACE = { devices: 3000, rate: 500, seconds: 30 };
const SMOKE: typeof PACE = { devices: 300, rate: 100, seconds: 3 };
const CONNECTIONS = 64;
const RING = { ring: 'early' };
/** Its labels decide what a device is offered, and are read from Redis as well. */
const TARGETED = { targets: { matchLabels: { ring: ['early'] }, matchExpressions: [] } };

type Outage = {
  readonly name: string;
  begin(postgres: PostgresServer): Promise<void> | void;
  end(postgres: PostgresServer): Promise<void> | void;
};

const OUTAGES: readonly Outage[] = [
  { name: 'stopped', begin: (server) => server.kill(), end: (server) => server.restart() },
  { name: 'frozen', begin: (server) => server.pause(), end: (server) => server.resume() },
];

export const outagePart: Part = {
  name: 'outage',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: false }, (deployment) =>
      measure(deployment, isSmoke ? SMOKE : PACE),
    ),
};

async function measure(deployment: Deployment, pace: typeof PACE): Promise<Report> {
  const service = await startDdi(deployment, TARGETED);
  await prepare(deployment, service, pace);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const rows: Row[] = [];
  const failures: string[] = [];
  const times: Row[] = [];
  for (const outage of OUTAGES) {
    console.error(`  outage, PostgreSQL ${outage.name} …`);
    const expected = await answersOf(service, pace.devices);
    await outage.begin(deployment.postgres);
    const { latency, errors } = await pollAway(agent, service, expected, pace);
    await outage.end(deployment.postgres);
    const wrong = Object.values(errors).reduce((sum, each) => sum + each, 0);
    const polls = { polls: pace.rate * pace.seconds };
    rows.push(figureRow(`other answers while it is ${outage.name}`, wrong, 0, polls));
    const percentiles = percentileColumns((share) => latency.percentileUs(share), 50, 99, 100);
    times.push({ PostgreSQL: outage.name, ...percentiles });
    failures.push(...failuresOf(outage.name, errors));
  }
  agent.destroy();
  const title = `${pace.rate} polls a second while PostgreSQL is away for ${pace.seconds} s`;
  return {
    tables: [
      { title, rows },
      { title: 'time since a poll was due', rows: times },
    ],
    json: { outage: rows },
    failures,
  };
}

/** Puts the devices on record with their attributes, opens actions, and closes those of a third. */
async function prepare(
  deployment: Deployment,
  { node }: DdiService,
  { devices, rate }: typeof PACE,
): Promise<void> {
  await askOnce(deployment, node, putQuestion(devices, VERSIONS, RING));
  await askOnce(deployment, node, ddiQuestion(devices, VERSIONS));
  const { deployment: id } = await deviceAt(node, BARRED_PLACE).poll();
  const count = Math.floor(devices / VERSIONS.length);
  const failed = await callAtRate({ rate, count }, async (index) => {
    await deviceAt(node, index * VERSIONS.length + BARRED_PLACE).report(id, 'failure');
  });
  const [reason] = Object.keys(failed);
  if (reason !== undefined) throw new Error(reason);
}

/** Returns what each device is answered, by its place. */
async function answersOf({ node }: DdiService, devices: number): Promise<readonly string[]> {
  const question: Question = ddiQuestion(devices, VERSIONS);
  const answers = await askAll(CONNECTIONS, devices, (index) => {
    const { path, device } = nthRequest(question, index);
    return { url: node.url + path, device };
  });
  return answers.map(({ status, body }) => `${status} ${body}`);
}

async function pollAway(
  agent: Agent,
  { node }: DdiService,
  expected: readonly string[],
  { devices, rate, seconds }: typeof PACE,
) {
  const latency = new LatencyHistogram();
  const question = ddiQuestion(devices, VERSIONS);
  const errors = await callAtRate({ rate, count: rate * seconds }, async (index, due) => {
    const { path, device } = nthRequest(question, index);
    const { status, body } = await ask(agent, node.url + path, device);
    latency.record(performance.now() - due);
    if (status !== 200) throw new Error(`status ${status}`);
    if (`${status} ${body}` !== expected[index % devices]) throw new Error('other links');
  });
  return { latency, errors };
}
