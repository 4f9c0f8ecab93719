// Report of a played fleet: how the run went, what a check cost, what fleets of other sizes need, in
// proportion to checks or to devices, which a run of one size cannot prove, and what ends first.

import { DRAINS } from '../../../src/node/processes/background-process.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import { failuresOf, percentileColumns, type Report, type Row } from '../../report.ts';
import { type FleetRun, type FleetStep, FRESHNESS_SECONDS, freshnessAt } from './measure-fleet.ts';

/** Fleets that are extrapolated to, and the seconds between two checks of a device in them. */
const FLEETS = [1_000_000, 3_000_000, 10_000_000];
const INTERVAL_SECONDS = 300;
/** Age in seconds above which the recording of check-ins counts as behind, as it does to the service. */
const BEHIND_SECONDS = 15;
/** Check-ins in the memory of the node above which Redis does not take them as they come. */
const HELD_MAX = 10_000;

type CheckCost = ReturnType<typeof costOf>;

export function fleetReport(run: FleetRun): Report {
  const { steps, settings } = run;
  const [first, last] = [steps[0] as FleetStep, steps.at(-1) as FleetStep];
  const cost = costOf(run, first, last);
  const latency = new LatencyHistogram(last.progress.latency);
  const percentiles = percentileColumns((share) => latency.percentileUs(share), 50, 99);
  const { redisFixedBytes: _, redisBytesByRate: __, ...shown } = cost;
  const checkRow = { ...shown, ...percentiles };
  const over = overTime(steps);
  const limits = limitsOf(cost);
  const measured = Math.round(cost['checks/s'] * INTERVAL_SECONDS);
  const sizes = [measured, ...FLEETS].sort((left, right) => left - right);
  const fleets = sizes.map((devices) => fleetRow(cost, devices, measured));
  const dropped = last.reading.dropped - first.reading.dropped;
  return {
    tables: [
      { title: 'the run, from noon to noon of a day that was pressed into it', rows: over },
      { title: 'a check, measured', rows: [checkRow] },
      { title: 'fleets that ask every five minutes, nobody asleep', rows: fleets },
      { title: 'what fleets use up, extrapolated', rows: limits },
    ],
    remarks: [bottleneck(limits), ...remarksOf(run, first, last)],
    json: { fleet: { ...checkRow, over, fleets, limits, settings } },
    failures: [
      ...failuresOf('errors', last.progress.errors),
      ...(dropped > 0 ? [`${dropped} check-ins were dropped`] : []),
    ],
  };
}

function costOf({ cpuMs, idle, steps, tables }: FleetRun, first: FleetStep, last: FleetStep) {
  const { answers } = last.progress;
  const us = (ms: number) => (ms * 1000) / answers;
  const each = (value: (reading: FleetStep['reading']) => number) =>
    (value(last.reading) - value(first.reading)) / answers;
  const checksPerSecond = answers / ((last.reading.cpu.at - first.reading.cpu.at) / 1000);
  const redisMost = Math.max(...steps.map(({ reading }) => reading.redisBytes));
  const waitUs = each(({ recordingSeconds }) => recordingSeconds) * 1e6;
  return {
    'checks/s': Math.round(checksPerSecond),
    'service us': us(cpuMs.service),
    'background us': us(cpuMs.background),
    // Of the one process that records. Drains wait for the stores at once, and share the processor.
    'recording us': waitUs / DRAINS + us(cpuMs.background),
    'Redis us': us(cpuMs.redis),
    'PostgreSQL us': us(cpuMs.postgres),
    'WAL bytes': Math.round(each(({ walBytes }) => walBytes)),
    'rows written': each(({ rowsWritten }) => rowsWritten),
    connections: each(({ connections }) => connections),
    'bytes/device': Math.round(tables.bytes / tables.rows),
    'Redis MB': redisMost / 1e6,
    /** Memory of Redis before any device asked, and further memory at most, for each check a second. */
    redisFixedBytes: idle.redisBytes,
    redisBytesByRate: (redisMost - idle.redisBytes) / checksPerSecond,
  };
}

/** Returns what a fleet of this size needs, every device asking every five minutes. */
function fleetRow(cost: CheckCost, devices: number, measured: number): Row {
  const rate = devices / INTERVAL_SECONDS;
  const parts = ['service', 'background', 'Redis', 'PostgreSQL'] as const;
  const cores = parts.map((part) => [`${part} cores`, (cost[`${part} us`] * rate) / 1e6]);
  return {
    devices,
    figures: devices === measured ? 'measured' : devices < measured ? 'scaled' : 'extrapolated',
    'checks/s': Math.round(rate),
    ...(Object.fromEntries(cores) as Row),
    'recording %': Math.round((cost['recording us'] * rate) / 1e4),
    'WAL MB/s': (cost['WAL bytes'] * rate) / 1e6,
    'connections/s': Math.round(cost.connections * rate),
    'devices GB': (cost['bytes/device'] * devices) / 1e9,
    'Redis MB': (cost.redisFixedBytes + cost.redisBytesByRate * rate) / 1e6,
  };
}

/** Resources that there is one of, each with the fleet that uses it up; without those of unknown cost. */
function limitsOf(cost: CheckCost) {
  const costs: readonly (readonly [string, number])[] = [
    ['the one process that records check-ins', cost['recording us']],
    ['one core of one serving process', cost['service us']],
    ['the one core of Redis', cost['Redis us']],
  ];
  return costs
    .filter(([, us]) => us > 0)
    .sort(([, left], [, right]) => right - left)
    .map(([name, us]) => {
      const devices = (1e6 / us) * INTERVAL_SECONDS;
      const million = Math.round(devices / 1e4) / 100;
      return { 'used up': name, 'checks/s': Math.round(1e6 / us), 'million devices': million };
    });
}

function bottleneck([limit]: ReturnType<typeof limitsOf>): string {
  if (limit === undefined) {
    return 'First bottleneck: not known, because this system does not tell the CPU of processes.';
  }
  const checks = limit['checks/s'].toLocaleString('en-US');
  const size = `${limit['million devices']} million devices (${checks} checks/s)`;
  return `First bottleneck: ${limit['used up']}, with ${size}; extrapolated.`;
}

function overTime(steps: readonly FleetStep[]): Row[] {
  return steps.slice(1).map((step, index) => {
    const { progress, reading } = step;
    const before = steps[index] as FleetStep;
    const seconds = (reading.cpu.at - before.reading.cpu.at) / 1000;
    const each = (value: (step: FleetStep) => number) => value(step) - value(before);
    const rate = (value: (step: FleetStep) => number) => Math.round(each(value) / seconds);
    const errors = (at: FleetStep) =>
      Object.values(at.progress.errors).reduce((sum, add) => sum + add, 0);
    return {
      ...{ hour: progress.hour.toFixed(1), 'awake %': Math.round(progress.awakeShare * 100) },
      'checks/s': rate((at) => at.progress.answers),
      'offers/s': rate((at) => at.progress.offers),
      'rows/s': rate((at) => at.reading.rowsWritten),
      'WAL KB/s': rate((at) => at.reading.walBytes / 1000),
      ...{ 'queue batches': reading.batches, 'age s': reading.ageSeconds, held: reading.held },
      ...{ retries: each((at) => at.progress.retries), errors: each(errors) },
      'on next %': progress.watchedShare * 100,
    };
  });
}

function remarksOf(run: FleetRun, first: FleetStep, last: FleetStep): string[] {
  const { settings, playerMs, checkpoints, tables } = run;
  const wallMs = last.reading.cpu.at - first.reading.cpu.at;
  const oldest = Math.max(...run.steps.map(({ reading }) => reading.ageSeconds));
  const isBehind = last.reading.ageSeconds > BEHIND_SECONDS || last.reading.held > HELD_MAX;
  const { seconds, virtual } = freshnessAt(settings.speed);
  const isUsual = virtual === FRESHNESS_SECONDS;
  const compared = isUsual ? 'as installed' : 'instead of 300, so rows are written less often';
  return [
    isBehind
      ? 'Recording did not keep up: check-ins waited at the end.'
      : `Recording kept up: the oldest check-in was ${oldest.toFixed(1)} s old, at the end of a step.`,
    `${tables.rows} devices at ${settings.speed} times real time;`,
    `DEVICE_FRESHNESS_SECONDS was ${seconds}, which is ${virtual} s to them, ${compared}.`,
    'Not scaled: the hours of the service (a row is written once in each new one), its limit of checks a',
    'minute, its timers. New devices had no bounds, because all come from one address.',
    `PostgreSQL made ${checkpoints} checkpoints: one in five minutes of the fleet's time, as installed.`,
    `The player took ${(playerMs / wallMs).toFixed(2)} of a core and was late by at most ` +
      `${Math.round(last.progress.lateMs)} ms.`,
  ];
}
