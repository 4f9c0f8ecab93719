// `npm run bench -- [NAME] [--smoke] [--json FILE]`: runs benchmarks and prints their tables. Those that
// compare claim nothing but ratios measured side by side in one run; `console` measures what people wait for,
// `live-feed` what their page costs.
// --smoke runs each on a few items, to see it work.
// `--scenario NAME` picks one of check's.
// `check --target URL [--rate N] [--duration S] [--devices N] [--label K=V]…` loads a running service.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { quickenStrings } from '../src/engine/redis/quicken-strings.ts';
import { useOwnSessions } from '../test/support/server-process.ts';
import { catalog } from './catalog.ts';
import { loadTarget } from './check/load-target.ts';
import { readTargetSettings } from './check/target-settings.ts';
import { check } from './check.ts';
import { consoleData } from './console.ts';
import { drain } from './drain.ts';
import { limiter } from './limiter.ts';
import { liveFeed } from './live-feed.ts';
import { freeProcess } from './load/cpu-account.ts';
import { peers } from './peers.ts';
import { propagation } from './propagation.ts';
import { type Benchmark, printTable, type Report } from './report.ts';
import { scale } from './scale.ts';
import { wave } from './wave.ts';

// This process has loaded ioredis as well, and some measure in it what the service does.
quickenStrings();
useOwnSessions();

const BENCHMARKS: readonly Benchmark[] = [
  check,
  peers,
  limiter,
  catalog,
  propagation,
  scale,
  drain,
  wave,
  consoleData,
  liveFeed,
];

const TARGET_EXPLANATION = [
  'answered/s: answers a second; p50 to p99.9: from when a request was meant to leave until its answer, so a',
  'stall counts for every request it kept waiting. "not sent in time": all connections waited for answers.',
  'A device gets 429 above 120 requests a minute: raise --devices with --rate.',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'string' },
    scenario: { type: 'string', default: '' },
    target: { type: 'string' },
    rate: { type: 'string', default: '100' },
    duration: { type: 'string', default: '10' },
    devices: { type: 'string', default: '1000' },
    label: { type: 'string', multiple: true, default: [] },
    'yes-i-own-this': { type: 'boolean', default: false },
  },
});

const wanted = positionals[0];
const chosen = BENCHMARKS.filter(({ name }) => wanted === undefined || name === wanted);
if (chosen.length === 0) {
  refuse(`no benchmark ${wanted}: there are ${BENCHMARKS.map(({ name }) => name).join(', ')}`);
}
const results: Record<string, unknown> = {};
const failures: string[] = [];
if (values.target !== undefined) {
  if (wanted !== 'check') refuse('--target belongs to check');
  const settings = readTargetSettings({
    ...values,
    target: values.target,
    isOwned: values['yes-i-own-this'],
  });
  if (typeof settings === 'string') refuse(settings);
  show('target', TARGET_EXPLANATION, await loadTarget(settings));
  chosen.length = 0;
}
for (const benchmark of chosen) {
  console.log(`\n${benchmark.name}: ${benchmark.title}`);
  show(benchmark.name, benchmark.explanation, await reportOf(benchmark));
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
for (const failure of failures) console.error(`failed: ${failure}`);
if (failures.length > 0) process.exitCode = 1;

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

function refuse(reason: string): never {
  console.error(reason);
  process.exit(2);
}

async function reportOf(benchmark: Benchmark): Promise<Report> {
  // Where the one before has put this process, all that this one starts would begin.
  freeProcess(process.pid);
  const result = await benchmark.run({ isSmoke: values.smoke, scenario: values.scenario });
  return 'tables' in result ? result : { tables: [{ rows: result }] };
}
