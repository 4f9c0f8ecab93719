// `npm run bench -- [NAME] [OPTION]...` runs benchmarks and prints their tables; `--help` lists them.

import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { restoreStringSpeed } from '../src/store/redis/commands.ts';
import { useOwnSessions } from '../test/support/server-process.ts';
import { type Benchmark, type Given, Refusal } from './benchmark.ts';
import { createCommand } from './command-line.ts';
import { freeProcess } from './machine/place-process.ts';
import { printReport, type Report } from './report.ts';
import { check } from './suite/check.ts';
import { compare } from './suite/compare.ts';
import { connections } from './suite/connections.ts';
import { ddi } from './suite/ddi.ts';
import { drain } from './suite/drain.ts';
import { fleet } from './suite/fleet.ts';
import { peers } from './suite/peers.ts';
import { price } from './suite/price.ts';
import { propagation } from './suite/propagation.ts';
import { rollouts } from './suite/rollouts.ts';
import { wave } from './suite/wave.ts';

const BENCHMARKS = [
  ...[check, price, compare, connections, peers, fleet, propagation, drain, wave, rollouts, ddi],
];

// This process has loaded ioredis as well, and `drain` measures in it the code of the service.
restoreStringSpeed();
useOwnSessions();

try {
  await createCommand(BENCHMARKS, runAll).parseAsync();
} catch (error) {
  if (error instanceof Refusal) console.error(`error: ${error.message}`);
  else if (!(error instanceof CommanderError)) throw error;
  const isHelp = error instanceof CommanderError && error.exitCode === 0;
  if (!isHelp) process.exitCode = 2;
}

async function runAll(list: readonly Benchmark[], given: Given, json?: string): Promise<void> {
  const results: Record<string, unknown> = {};
  const failures: string[] = [];
  for (const benchmark of list) {
    console.log(`\n${benchmark.name}: ${benchmark.title}`);
    const report = await attempt(benchmark, given);
    printReport(report, benchmark.reading);
    Object.assign(results, report.json ?? { [benchmark.name]: report.tables[0]?.rows });
    for (const failure of report.failures ?? []) failures.push(`${benchmark.name}: ${failure}`);
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
  for (const failure of failures) console.error(`failed: ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}

/** Report of a run; one that breaks off is reported as a failure, and the others still get their turn. */
async function attempt(benchmark: Benchmark, given: Given): Promise<Report> {
  // The previous run may have pinned this process, and processes that it starts inherit its processors.
  freeProcess(process.pid);
  try {
    return await benchmark.run(given);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return { tables: [], failures: [error instanceof Error ? error.message : String(error)] };
  }
}
