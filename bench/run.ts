// `npm run bench -- [NAME] [--smoke] [--json FILE]` runs benchmarks and prints their tables. Most claim
// nothing but ratios measured side by side in one run; `console` measures how long a page waits for its data,
// `live-feed` how much processor time a page takes, and `rollouts` plays plans without measuring any time.
// --smoke runs each on a few items, to see that it works.
// `--scenario NAME` picks scenarios of `check`.
// `check --target URL [--rate N] [--duration S] [--devices N] [--label K=V]…` loads a running service.
// `fleet [--devices N] [--speed N] [--duration S]` plays a fleet of another size.
// `drain REF` records beside the drain of another commit.
// `compare REF [--edge] [--scenario NAME]` measures update checks of this tree, or of its edge, beside those
// of another commit.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { restoreStringSpeed } from '../src/engine/redis/restore-string-speed.ts';
import { useOwnSessions } from '../test/support/server-process.ts';
import { readCommand } from './command-line.ts';
import { findCommit } from './compare/checkout.ts';
import { COMPARE_EXPLANATION, compare } from './compare/compare.ts';
import { freeProcess } from './machine/place-process.ts';
import { printTable, type Report } from './measure/report.ts';
import { scenarios } from './service/scenarios.ts';
import type { Benchmark } from './suite/benchmark.ts';
import { BENCHMARKS } from './suite/benchmarks.ts';
import { loadTarget } from './suite/check/load-target.ts';

// This process has loaded ioredis as well, and some benchmarks measure in it the code of the service.
restoreStringSpeed();
useOwnSessions();

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TARGET_EXPLANATION = [
  'answered/s: answers a second; p50 to p99.9: from when a request was meant to leave until its answer, so a',
  'stall counts for every request it kept waiting. "not sent in time": all connections waited for answers.',
  'A device gets 429 above 120 requests a minute: raise --devices with --rate.',
];

const results: Record<string, unknown> = {};
const failures: string[] = [];

const command = readCommand(process.argv.slice(2), {
  benchmarks: BENCHMARKS.map(({ name }) => name),
  scenarios: scenarios(false).map(({ name }) => name),
});
if (typeof command === 'string') refuse(command);
const {
  target,
  ref,
  isOnEdge = false,
  against,
  benchmarks,
  json,
  isSmoke,
  scenario,
  fleet,
} = command;
if (target !== undefined) {
  show('target', TARGET_EXPLANATION, await attempt(() => loadTarget(target)));
}
if (ref !== undefined) {
  const commit = findCommit(ROOT, ref) ?? refuse(`no commit ${ref} in this repository`);
  const options = { root: ROOT, commit, isSmoke, scenario, isOnEdge };
  const side = isOnEdge ? 'an edge of the present tree' : 'the present tree';
  console.log(`\ncompare: update checks on ${side} beside ${ref} (PostgreSQL and Redis)`);
  show('compare', COMPARE_EXPLANATION, await attempt(() => compare(options)));
}
for (const benchmark of BENCHMARKS.filter(({ name }) => benchmarks.includes(name))) {
  console.log(`\n${benchmark.name}: ${benchmark.title}`);
  show(benchmark.name, benchmark.explanation, await attempt(() => reportOf(benchmark)));
}
if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
for (const failure of failures) console.error(`failed: ${failure}`);
if (failures.length > 0) process.exitCode = 1;

function refuse(reason: string): never {
  console.error(reason);
  process.exit(2);
}

async function reportOf(benchmark: Benchmark): Promise<Report> {
  const result = await benchmark.run({
    isSmoke,
    scenario,
    ...(fleet === undefined ? {} : { fleet }),
    ...(against === undefined ? {} : { against }),
  });
  return 'tables' in result ? result : { tables: [{ rows: result }] };
}

/** Report of a run; one that breaks off is reported as a failure, and the others still get their turn. */
async function attempt(run: () => Promise<Report>): Promise<Report> {
  // The previous run may have pinned this process, and processes that it starts inherit its processors.
  freeProcess(process.pid);
  try {
    return await run();
  } catch (error) {
    return { tables: [], failure: error instanceof Error ? error.message : String(error) };
  }
}

function show(name: string, explanation: readonly string[], report: Report): void {
  for (const { title, rows } of report.tables) {
    if (rows.length === 0) continue;
    if (title !== undefined) console.log(` ${title}`);
    printTable(rows);
  }
  for (const line of [...explanation, ...(report.remarks ?? [])]) console.log(line);
  Object.assign(results, report.json ?? { [name]: report.tables[0]?.rows });
  if (report.failure !== undefined) failures.push(`${name}: ${report.failure}`);
}
