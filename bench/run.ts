// `npm run bench -- [NAME] [--smoke] [--json FILE]`: runs benchmarks and prints their tables. Each claims
// nothing but ratios measured side by side in one run; --smoke runs each on a few items, to see it work.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { check } from './check.ts';
import { drain } from './drain.ts';
import { type Benchmark, printTable, type Report } from './report.ts';
import { wave } from './wave.ts';

const BENCHMARKS: readonly Benchmark[] = [check, drain, wave];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

const wanted = positionals[0];
const chosen = BENCHMARKS.filter(({ name }) => wanted === undefined || name === wanted);
if (chosen.length === 0) {
  console.error(
    `no benchmark ${wanted}: there are ${BENCHMARKS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
const results: Record<string, unknown> = {};
const failures: string[] = [];
for (const benchmark of chosen) {
  console.log(`\n${benchmark.name}: ${benchmark.title}`);
  const report = await reportOf(benchmark);
  for (const { title, rows } of report.tables) {
    if (rows.length === 0) continue;
    if (title !== undefined) console.log(` ${title}`);
    printTable(rows);
  }
  for (const line of [...benchmark.explanation, ...(report.remarks ?? [])]) console.log(line);
  Object.assign(results, report.json ?? { [benchmark.name]: report.tables[0]?.rows });
  if (report.failure !== undefined) failures.push(`${benchmark.name}: ${report.failure}`);
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
for (const failure of failures) console.error(`failed: ${failure}`);
if (failures.length > 0) process.exitCode = 1;

async function reportOf(benchmark: Benchmark): Promise<Report> {
  const result = await benchmark.run({ isSmoke: values.smoke });
  return 'tables' in result ? result : { tables: [{ rows: result }] };
}
