// Measures a fleet that keeps its connections open: latencies, CPU per check, and memory per connection.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGenerator } from '../../load/generator.ts';
import type { HoldOptions, HoldResult } from '../../load/hold-connections.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { type Child, startChild } from '../../machine/child-process.ts';
import { usedMs } from '../../machine/cpu-account.ts';
import { descriptorsMax } from '../../machine/descriptors-max.ts';
import { favourSession } from '../../machine/place-process.ts';
import { meetFleet, sideOf } from '../../measure/closed-loop.ts';
import { patienceOf } from '../../measure/patience.ts';
import type { Report, Row } from '../../measure/report.ts';
import { type BenchService, startBenchService } from '../../service/bench-service.ts';
import {
  insertScenarios,
  OWN_CONNECTION,
  type Scenario,
  scenarios,
} from '../../service/scenarios.ts';

const WANTED = 20_000;
const WANTED_SMOKE = 500;
const SECONDS = 24;
const SECONDS_SMOKE = 2;
/**
 * Time between two checks of a connection: 7 s with a second of jitter each way, because the service closes
 * connections that were idle for 8 s.
 */
const GAP_MS = [6000, 8000] as const;
const GAP_SMOKE_MS = [600, 1000] as const;
/** File descriptors that neither the service nor the generator has for connections. */
const RESERVED = 256;
const WAIT_MS = 30_000;
/** Time in which a service that is not asked gives back the memory of the warm-up. */
const SETTLE_MS = 10_000;

/** Holds as many connections as are wanted, or as the system lets a process open. */
export async function measureHeld(isSmoke: boolean): Promise<Report> {
  const wanted = isSmoke ? WANTED_SMOKE : WANTED;
  const connections = Math.min(wanted, descriptorsMax() - RESERVED);
  const scenario = scenarios(isSmoke).find(({ name }) => name === OWN_CONNECTION);
  if (scenario === undefined) throw new Error(`no scenario ${OWN_CONNECTION}`);
  console.error(`  ${connections} open connections …`);
  const service = await startBenchService(insertScenarios);
  try {
    const question = { ...scenario.question, devices: connections };
    await warmUp(service, { ...scenario, question }, isSmoke);
    if (!isSmoke) await sleep(SETTLE_MS);
    const child = startChild(new URL('../../load/hold-process.ts', import.meta.url), {
      hasOwnSession: true,
    });
    favourSession(child.pid);
    try {
      const { expected } = scenario;
      const result = await hold(child, {
        ...{ port: service.port, servicePid: service.pid, question, connections, expected },
        gapMs: isSmoke ? GAP_SMOKE_MS : GAP_MS,
        seconds: isSmoke ? SECONDS_SMOKE : SECONDS,
      });
      return reportOf(result, service.pid, connections, wanted);
    } finally {
      await child.end();
    }
  } finally {
    await service.dispose();
  }
}

/** Lets the fleet ask once, so that the code is compiled and the memory of devices is in use before. */
async function warmUp(service: BenchService, scenario: Scenario, isSmoke: boolean): Promise<void> {
  const { question, expected } = scenario;
  const generator = startGenerator();
  const loop = { question, expected, connections: 1, seconds: 0, warmupSeconds: 0 };
  const side = sideOf('service', { port: service.port, pids: [service.pid] }, loop);
  const patience = patienceOf(isSmoke, WAIT_MS, WAIT_MS, service.recording);
  await meetFleet(generator, side, patience).finally(() => generator.end());
}

async function hold(child: Child, options: HoldOptions): Promise<HoldResult> {
  const exited = once(child.process, 'exit').then(() => undefined);
  child.process.send(options);
  const answered = once(child.process, 'message').then(([result]) => result as HoldResult);
  const result = await Promise.race([answered, exited]);
  if (result === undefined) throw new Error('the process that holds connections ended');
  return result;
}

function reportOf(result: HoldResult, pid: number, connections: number, wanted: number): Report {
  const { open, answers, errors, seconds, cpu, residentBytes } = result;
  const latency = new LatencyHistogram(result.latency);
  const errorCount = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const row: Row = {
    open,
    answers,
    'answers/s': Math.round(answers / seconds),
    errors: errorCount,
    'p50 us': Math.round(latency.percentileUs(0.5)),
    'p99 us': Math.round(latency.percentileUs(0.99)),
    'service us': (usedMs(cpu.begin, cpu.end, [pid]) * 1000) / answers,
    'bytes/connection': Math.round((residentBytes.after - residentBytes.before) / open),
    'MB before': Math.round(residentBytes.before / 1e6),
    'MB after': Math.round(residentBytes.after / 1e6),
  };
  const limit = `${connections} connections instead of ${wanted}, because of the limit of open files`;
  return {
    tables: [{ title: 'connections that are kept, each asking every few seconds', rows: [row] }],
    remarks: connections < wanted ? [`kept connections: ${limit} (ulimit -n)`] : [],
    json: { held: { ...row, errors } },
    ...(errorCount === 0 ? {} : { failure: `kept connections: ${JSON.stringify(errors)}` }),
  };
}
