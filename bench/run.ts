// `npm run bench -- [NAME] [--smoke] [--json FILE]`: runs benchmarks and prints their tables. Those that
// compare claim nothing but ratios measured side by side in one run; `console` measures what people wait for.
// --smoke runs each on a few items, to see it work.

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { consoleData } from './console.ts';
import { drain } from './drain.ts';
import { type Benchmark, printTable } from './report.ts';
import { wave } from './wave.ts';

const BENCHMARKS: readonly Benchmark[] = [drain, wave, consoleData];

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
for (const benchmark of chosen) {
  console.log(`\n${benchmark.name}: ${benchmark.title}`);
  const rows = await benchmark.run({ isSmoke: values.smoke });
  printTable(rows);
  for (const line of benchmark.explanation) console.log(line);
  results[benchmark.name] = rows;
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
