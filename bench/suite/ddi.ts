// Measures devices that speak DDI against the figures of the contract: what a poll costs, whether polls are
// answered in time with a large fleet, what Redis holds, and that closings and outages cost no wrong answer.

import { Option } from 'commander';
import { type Benchmark, Refusal } from '../benchmark.ts';
import { freeProcess } from '../machine/place-process.ts';
import type { Report } from '../report.ts';
import { closingsPart } from './ddi/closings-part.ts';
import { memoryPart } from './ddi/memory-part.ts';
import { outagePart } from './ddi/outage-part.ts';
import { pricePart } from './ddi/price-part.ts';
import { ratePart } from './ddi/rate-part.ts';
import { statementsPart } from './ddi/statements-part.ts';

const PARTS = [pricePart, statementsPart, ratePart, memoryPart, closingsPart, outagePart];
const NAMES = PARTS.map(({ name }) => name).join(', ');

export const ddi: Benchmark = {
  name: 'ddi',
  title: 'devices that speak DDI, beside the bounds of the contract',
  options: [new Option('--part <name>', `that alone: ${NAMES}`)],
  reading: [
    'value: the figure, with what it may be at most; within: whether it is. us: CPU microseconds of the',
    'serving process. Latencies count from when a request was due. Bounds of time do not end the command',
    'with 1, wrong answers do.',
  ],
  async run({ isSmoke, options }) {
    const { part } = options as { readonly part?: string };
    const chosen = PARTS.filter(({ name }) => part === undefined || name === part);
    if (chosen.length === 0) throw new Refusal(`no part "${part}": there are ${NAMES}`);
    const reports: Report[] = [];
    for (const each of chosen) {
      // The part before may have pinned this process; what it starts would share one processor.
      freeProcess(process.pid);
      reports.push(await each.measure(isSmoke));
    }
    return {
      tables: reports.flatMap(({ tables }) => tables),
      remarks: reports.flatMap(({ remarks = [] }) => remarks),
      json: { ddi: Object.assign({}, ...reports.map(({ json }) => json)) },
      failures: reports.flatMap(({ failures = [] }) => failures),
    };
  },
};
