// Which statements PostgreSQL runs for polls of known devices, beside those at rest and for as many checks on
// `/u`, whose check-ins the drain records in the same way.

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { runOn } from '../../../test/support/run-on.ts';
import type { Report } from '../../report.ts';
import { type Deployment, readMetrics, withDeployment } from '../../service/deployment.ts';
import { askOnce, checkQuestion, ddiQuestion, NEWEST, startDdi } from './ddi-service.ts';
import { figureRow, type Part } from './part.ts';
import { holdFleet, recordFleet } from './recorded-fleet.ts';

/** `windowMs`: time in which what follows the requests is over, and timers have done as much in each. */
const PACE = { requests: 10_000, windowMs: 30_000 };
const SMOKE: typeof PACE = { requests: 1000, windowMs: 4000 };
/** Times the calls at rest or for checks that the drain and timers explain, and calls of rare timers. */
const EXPLAINED_TIMES = 2;
const RARE_MAX = 9;
const TEXT_LENGTH_MAX = 70;
const READS = 'sluice_ddi_state_reads_total{source="ledger"}';

type Window = {
  /** Calls by the beginning of the statement. */
  readonly calls: ReadonlyMap<string, number>;
  readonly ms: number;
};

export const statementsPart: Part = {
  name: 'statements',
  measure: (isSmoke) =>
    withDeployment({ isPlaced: false }, (deployment) =>
      measure(deployment, isSmoke ? SMOKE : PACE),
    ),
};

async function measure(
  deployment: Deployment,
  { requests, windowMs }: typeof PACE,
): Promise<Report> {
  console.error('  statements …');
  await countStatements(deployment);
  const service = await startDdi(deployment);
  const { node } = service;
  const sql = await deployment.connect(service.stores.DATABASE_URL);
  await sql.query('CREATE EXTENSION pg_stat_statements');
  // A part of the fleet for each: what follows the first check-in of a device is the same for all.
  const devices = requests * 3;
  await recordFleet(service, sql, devices);
  await holdFleet(service, devices);
  const polls = ddiQuestion(devices, [NEWEST]);
  const checks = checkQuestion(devices, NEWEST);
  await askOnce(deployment, node, polls, { count: requests });
  await sleep(windowMs);
  const during = (work: () => Promise<void>) => readWindow(sql, windowMs, work);
  const rest = await during(async () => undefined);
  const checked = await during(() =>
    askOnce(deployment, node, checks, { count: requests, skip: requests, expected: 204 }),
  );
  const readBefore = (await readMetrics(node))(READS);
  const polled = await during(() =>
    askOnce(deployment, node, polls, { count: requests, skip: requests * 2 }),
  );
  const read = (await readMetrics(node))(READS) - readBefore;
  return reportOf(requests, read, { rest, checked, polled });
}

/** Lets the server count statements, which takes a restart. */
async function countStatements({ postgres }: Deployment): Promise<void> {
  await runOn(postgres.url, `ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
  await postgres.restart();
}

async function readWindow(
  sql: pg.Client,
  windowMs: number,
  work: () => Promise<void>,
): Promise<Window> {
  await sql.query('SELECT pg_stat_statements_reset()');
  const begin = performance.now();
  await Promise.all([work(), sleep(windowMs)]);
  const { rows } = await sql.query<{ query: string; calls: string }>(
    `SELECT query, calls FROM pg_stat_statements
     WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query NOT LIKE '%pg_stat_statements%'`,
  );
  const calls = new Map<string, number>();
  for (const { query, calls: count } of rows) {
    const text = query.replace(/\s+/g, ' ').trim().slice(0, TEXT_LENGTH_MAX);
    calls.set(text, (calls.get(text) ?? 0) + Number(count));
  }
  return { calls, ms: performance.now() - begin };
}

function reportOf(
  requests: number,
  read: number,
  { rest, checked, polled }: Readonly<Record<'rest' | 'checked' | 'polled', Window>>,
): Report {
  const callsOf = ({ calls, ms }: Window, statement: string) =>
    Math.round(((calls.get(statement) ?? 0) * polled.ms) / ms);
  const rows = [...polled.calls]
    .sort(([, left], [, right]) => right - left)
    .map(([statement, polls]) => {
      const beside = [callsOf(rest, statement), callsOf(checked, statement)] as const;
      const known = Math.max(...beside);
      const own = polls > known * EXPLAINED_TIMES + RARE_MAX ? polls - known : 0;
      return { statement, 'at rest': beside[0], checks: beside[1], polls, 'of polls alone': own };
    });
  const own = rows.reduce((sum, each) => sum + each['of polls alone'], 0);
  return {
    tables: [
      {
        title: `statements of PostgreSQL for ${requests} polls`,
        rows: [
          figureRow('that neither rest nor the drain explains', own, 0),
          figureRow('states of devices that were read', read, 0),
        ],
      },
      { title: 'calls in as long a time', rows },
    ],
    json: { statements: { own, read, rows } },
    failures: read > 0 ? [`${read} states of devices were read from PostgreSQL`] : [],
  };
}
