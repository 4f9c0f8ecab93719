// Gain from a second worker process: the same service with WORKERS=1 and 2, on all processors.

import { startGenerator } from '../load/generator.ts';
import { argumentsOf, processTree } from '../machine/process-table.ts';
import { repetition, sideOf, warmSides } from '../measure/closed-loop.ts';
import type { Report, Row } from '../measure/report.ts';
import { alternate, failureOf, percentileUs, type SideSummary } from '../measure/rounds.ts';
import { type BenchService, startBenchService } from '../service/bench-service.ts';
import { probe } from '../service/probe.ts';
import { CONNECTIONS, insertScenarios, scenarios } from '../service/scenarios.ts';
import type { Benchmark } from './benchmark.ts';

const WORKERS = [1, 2] as const;

export const scale: Benchmark = {
  name: 'scale',
  title:
    'one and two worker processes on one port (128 connections, nothing pinned but the generator)',
  explanation: [
    'cores: processors that the serving processes used; us: their CPU per request; behind: of the rest.',
    'The generator and the stores need processors, too: on a machine with two, two workers have to share',
    'theirs with them, and what can be seen there is that they do so at the same cost.',
  ],
  async run({ isSmoke }) {
    const rows: Row[] = [];
    const remarks: string[] = [];
    const failures: string[] = [];
    for (const workers of WORKERS) {
      const service = await startWith(workers);
      if (typeof service === 'string') {
        remarks.push(`WORKERS=${workers} was not measured: ${service}`);
        continue;
      }
      try {
        const { summary, checksum } = await measureWorkers(service, isSmoke);
        rows.push(
          rowOf(workers, summary, Number(rows[0]?.['requests/s'] ?? summary.rps), checksum),
        );
        const { failure } = failureOf([summary]);
        if (failure !== undefined) failures.push(failure);
      } finally {
        await service.dispose();
      }
    }
    const report: Report = { tables: [{ rows }], remarks };
    return failures.length === 0 ? report : { ...report, failure: failures.join('; ') };
  },
};

/** Returns the service, or the reason why it does not start with this number of workers. */
async function startWith(workers: number): Promise<BenchService | string> {
  try {
    return await startBenchService(insertScenarios, { WORKERS: String(workers) }, false);
  } catch (error) {
    const refusal = /sluice: (WORKERS: .*)/.exec(String(error))?.[1];
    if (refusal === undefined) throw error;
    return refusal;
  }
}

async function measureWorkers(service: BenchService, isSmoke: boolean) {
  const [scenario] = scenarios(isSmoke);
  if (scenario === undefined) throw new Error('no scenario');
  const { checksum } = await probe(service.node.url, scenario.question, 200);
  const processes = processTree(service.pid);
  const backgroundPids = processes.filter((pid) => argumentsOf(pid).includes('--background'));
  const pids = processes.filter((pid) => !backgroundPids.includes(pid));
  const generator = startGenerator();
  try {
    const loop = {
      ...scenario,
      connections: CONNECTIONS,
      seconds: isSmoke ? 0.3 : 0.8,
      warmupSeconds: isSmoke ? 0.1 : 0.5,
    };
    const side = sideOf('service', { port: service.port, pids, backgroundPids }, loop);
    await warmSides(generator, [side]);
    const [summary] = await alternate(generator, [side], repetition(isSmoke, service.recording));
    if (summary === undefined) throw new Error('nothing was measured');
    return { summary, checksum };
  } finally {
    await generator.end();
  }
}

function rowOf(workers: number, summary: SideSummary, oneWorker: number, checksum: string): Row {
  return {
    workers: String(workers),
    'requests/s': Math.round(summary.rps),
    'by one': summary.rps / oneWorker,
    cores: summary.serverShare,
    us: summary.cpuUs,
    behind: summary.backgroundUs,
    'p50 us': Math.round(percentileUs(summary, 0.5)),
    'p99 us': Math.round(percentileUs(summary, 0.99)),
    rejected: summary.rejected,
    checksum,
  };
}
