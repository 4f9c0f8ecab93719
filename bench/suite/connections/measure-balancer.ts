// Measures checks that come through TLS at HAProxy with a connection each: the CPU of the serving process
// behind it, the service beside the bare server, and HAProxy's own. Both ways in which HAProxy may use its
// connections to the server take turns.

import { type Generator, startGenerator } from '../../load/generator.ts';
import { meetFleet, sideOf, warmSide } from '../../measure/closed-loop.ts';
import { patienceOf } from '../../measure/patience.ts';
import { intervalText, ratioInterval } from '../../measure/ratio-interval.ts';
import type { Report, Row } from '../../measure/report.ts';
import { alternate, failureOf, type Side, type SideSummary } from '../../measure/rounds.ts';
import {
  type Balancer,
  missingPrograms,
  type Reuse,
  startBalancer,
} from '../../servers/start-balancer.ts';
import { startPinnedServer } from '../../servers/start-server.ts';
import { type BenchService, startBenchService } from '../../service/bench-service.ts';
import { probe } from '../../service/probe.ts';
import {
  CONNECTIONS,
  insertScenarios,
  OWN_CONNECTION,
  type Scenario,
  scenarios,
} from '../../service/scenarios.ts';

type Target = { readonly port: number; readonly pid: number };

const REUSES: readonly Reuse[] = ['safe', 'always'];
const WAIT_MS = 45_000;
const WAIT_PER_ROUND_MS = 10_000;
const PACE = { turns: 7, retries: 2, seconds: 1, warmupSeconds: 0.2 };
const SMOKE = { turns: 2, retries: 0, seconds: 0.3, warmupSeconds: 0.1 };

/** Measures, or says in one line why not. */
export async function measureBalancer(isSmoke: boolean): Promise<Report> {
  const missing = missingPrograms();
  if (missing.length > 0) {
    return { tables: [], remarks: [`behind HAProxy: passed over, no ${missing.join(' and no ')}`] };
  }
  const scenario = scenarios(isSmoke).find(({ name }) => name === OWN_CONNECTION);
  if (scenario === undefined) throw new Error(`no scenario ${OWN_CONNECTION}`);
  console.error('  behind HAProxy …');
  const service = await startBenchService(insertScenarios);
  const generator = startGenerator();
  try {
    return await measurePair(service, generator, scenario, isSmoke);
  } finally {
    await generator.end();
    await service.dispose();
  }
}

async function measurePair(
  service: BenchService,
  generator: Generator,
  scenario: Scenario,
  isSmoke: boolean,
): Promise<Report> {
  const { first } = await probe(service.node.url, scenario.question, 1);
  const floor = await startPinnedServer('floor-server', first, service.gc.environment);
  const balancers: Balancer[] = [];
  const pace = isSmoke ? SMOKE : PACE;
  const patience = patienceOf(isSmoke, WAIT_MS, WAIT_PER_ROUND_MS, service.recording);
  try {
    await meetFleet(generator, sideBehind('service', service, scenario, pace), patience);
    const sides: Side[] = [];
    for (const reuse of REUSES) {
      for (const [name, target] of Object.entries({ floor, service })) {
        const balancer = await startBalancer(target.port, reuse);
        balancers.push(balancer);
        const side = sideBehind(`${reuse} ${name}`, target, scenario, pace, balancer);
        sides.push(await warmSide(generator, side, pace.warmupSeconds * 10));
      }
    }
    const options = { wanted: pace.turns, retries: pace.retries, patience };
    return reportOf(await alternate(generator, sides, options));
  } finally {
    await Promise.all(balancers.map((balancer) => balancer.end()));
    await floor.end();
  }
}

/** Describes a server as a side, asked through the balancer where there is one. */
function sideBehind(
  name: string,
  { port, pid }: Target,
  { question, expected }: Scenario,
  { seconds, warmupSeconds }: typeof PACE,
  balancer?: Balancer,
): Side {
  const loop = { question, connections: CONNECTIONS, expected, seconds, warmupSeconds };
  if (balancer === undefined) return sideOf(name, { port, pids: [pid] }, loop);
  const backgroundPids = [balancer.pid];
  const server = { port: balancer.port, pids: [pid], backgroundPids };
  const side = sideOf(name, server, { ...loop, isOneRequest: true });
  const { certificate } = balancer;
  return { ...side, load: { ...side.load, isTls: true, certificate } };
}

function reportOf(summaries: readonly SideSummary[]): Report {
  const rows = REUSES.map((reuse, index): Row => {
    const [floor, service] = summaries.slice(index * 2);
    if (floor === undefined || service === undefined) throw new Error('a side was not measured');
    const ratios = service.rounds.map(
      ({ cpuUs }, turn) => cpuUs / (floor.rounds[turn]?.cpuUs ?? Number.NaN),
    );
    const interval = ratioInterval(ratios.map((each) => [each]));
    return {
      'http-reuse': reuse,
      'floor us': floor.cpuUs,
      'service us': service.cpuUs,
      cpu: interval.ratio,
      '95 %': intervalText(interval),
      'HAProxy us': service.backgroundUs,
      'HAProxy us (floor)': floor.backgroundUs,
      'service/s': Math.round(service.rps),
      'floor/s': Math.round(floor.rps),
      turns: ratios.length,
    };
  });
  const isDisturbed = summaries.some((summary) => summary.isDisturbed);
  return {
    tables: [{ title: 'behind HAProxy, which ends TLS: a connection for each check', rows }],
    remarks: isDisturbed ? ['behind HAProxy: every turn was disturbed'] : [],
    json: { balancer: rows },
    ...failureOf(summaries),
  };
}
