// Report of a played fleet: how the run went, what a check cost, what fleets of other sizes need, and what
// ends first. Figures that were not measured are marked.

import { DRAINS } from '../../../src/compose/background.ts';
import { LatencyHistogram } from '../../load/latency-histogram.ts';
import type { Report, Row } from '../../measure/report.ts';
import { type CheckCost, extrapolate, INTERVAL_SECONDS, limitsOf } from './extrapolate.ts';
import { freshnessAt } from './fleet-settings.ts';
import type { FleetRun, FleetStep } from './measure-fleet.ts';

const FLEETS = [1_000_000, 3_000_000, 10_000_000];
const FRESHNESS_INSTALLED = 300;
/** Age in seconds above which the recording of check-ins counts as behind, as it does to the service. */
const BEHIND_SECONDS = 15;
/** Check-ins in the memory of the node above which Redis does not take them as they come. */
const HELD_MAX = 10_000;

/** Returns the tables and remarks of a run. */
export function fleetReport(run: FleetRun): Report {
  const { steps, tables } = run;
  const [first, last] = [steps[0] as FleetStep, steps.at(-1) as FleetStep];
  const { cost, checkRow, checksPerSecond } = costOf(run, first, last);
  const over = overTime(steps);
  const limits = limitsOf(cost);
  const bytesPerDevice = tables.bytes / tables.rows;
  const measured = Math.round(checksPerSecond * INTERVAL_SECONDS);
  const fleets = [measured, ...FLEETS]
    .sort((left, right) => left - right)
    .map((devices) => fleetRow(cost, bytesPerDevice, devices, measured));
  const [limit] = limits;
  const errors = Object.entries(last.progress.errors);
  const dropped = last.reading.dropped - first.reading.dropped;
  const failures = [
    ...(errors.length > 0 ? [`errors ${JSON.stringify(last.progress.errors)}`] : []),
    ...(dropped > 0 ? [`${dropped} check-ins were dropped`] : []),
  ];
  return {
    tables: [
      { title: 'the run, from noon to noon of a day that was pressed into it', rows: over },
      { title: 'a check, measured', rows: [checkRow] },
      { title: 'fleets that ask every five minutes, nobody asleep', rows: fleets },
      { title: 'what fleets use up, extrapolated', rows: limits.map(limitRow) },
    ],
    remarks: [
      ...(limit === undefined
        ? ['First bottleneck: not known, because this system does not tell the CPU of processes.']
        : [
            `First bottleneck: ${limit.name}, with ${millions(limit.devices)} million devices`,
            `(${Math.round(limit.checksPerSecond).toLocaleString('en-US')} checks/s); extrapolated.`,
          ]),
      ...remarksOf(run, first, last),
    ],
    json: { fleet: { ...checkRow, over, fleets, limits, settings: run.settings } },
    ...(failures.length === 0 ? {} : { failure: failures.join('; ') }),
  };
}

function costOf(run: FleetRun, first: FleetStep, last: FleetStep) {
  const { cpuMs, idle, steps, tables } = run;
  const { progress } = last;
  const begin = first.reading;
  const end = last.reading;
  const seconds = (end.cpu.at - begin.cpu.at) / 1000;
  const { answers } = progress;
  const us = (ms: number) => (ms * 1000) / answers;
  const checksPerSecond = answers / seconds;
  const redisMost = Math.max(...steps.map(({ reading }) => reading.redisBytes));
  const waitUs = ((end.recordingSeconds - begin.recordingSeconds) * 1e6) / answers;
  const cost: CheckCost = {
    serviceUs: us(cpuMs.service),
    backgroundUs: us(cpuMs.background),
    redisUs: us(cpuMs.redis),
    postgresUs: us(cpuMs.postgres),
    // Drains wait for the stores side by side, and take turns on the processor.
    recordingUs: waitUs / DRAINS + us(cpuMs.background),
    walBytes: (end.walBytes - begin.walBytes) / answers,
    connections: (end.connections - begin.connections) / answers,
    redisFixedBytes: idle.redisBytes,
    redisBytesByRate: (redisMost - idle.redisBytes) / checksPerSecond,
  };
  const latency = new LatencyHistogram(progress.latency);
  const checkRow: Row = {
    'checks/s': Math.round(checksPerSecond),
    'service us': cost.serviceUs,
    'background us': cost.backgroundUs,
    'recording us': cost.recordingUs,
    'Redis us': cost.redisUs,
    'PostgreSQL us': cost.postgresUs,
    'WAL bytes': Math.round(cost.walBytes),
    'rows written': (end.rowsWritten - begin.rowsWritten) / answers,
    connections: cost.connections,
    'p50 us': Math.round(latency.percentileUs(0.5)),
    'p99 us': Math.round(latency.percentileUs(0.99)),
    'bytes/device': Math.round(tables.bytes / tables.rows),
    'Redis MB': redisMost / 1e6,
  };
  return { cost, checkRow, checksPerSecond };
}

/** Rows of what happened between each two steps. */
function overTime(steps: readonly FleetStep[]): Row[] {
  return steps.slice(1).map(({ progress, reading }, index) => {
    const before = steps[index] as FleetStep;
    const seconds = (reading.cpu.at - before.reading.cpu.at) / 1000;
    const each = (value: (step: FleetStep) => number) =>
      value({ progress, reading }) - value(before);
    return {
      hour: hourText(progress.hour),
      'awake %': Math.round(progress.awakeShare * 100),
      'checks/s': Math.round(each((step) => step.progress.answers) / seconds),
      'offers/s': Math.round(each((step) => step.progress.offers) / seconds),
      'rows/s': Math.round(each((step) => step.reading.rowsWritten) / seconds),
      'WAL KB/s': Math.round(each((step) => step.reading.walBytes) / seconds / 1000),
      'queue batches': reading.batches,
      'age s': reading.ageSeconds,
      held: reading.held,
      retries: each((step) => step.progress.retries),
      errors: each((step) => errorCount(step)),
      'on next %': progress.watchedShare * 100,
    };
  });
}

function errorCount({ progress }: FleetStep): number {
  return Object.values(progress.errors).reduce((sum, count) => sum + count, 0);
}

function fleetRow(cost: CheckCost, bytesPerDevice: number, devices: number, measured: number): Row {
  const need = extrapolate(cost, bytesPerDevice, devices);
  return {
    devices,
    figures: devices === measured ? 'measured' : devices < measured ? 'scaled' : 'extrapolated',
    'checks/s': Math.round(need.checksPerSecond),
    'service cores': need.service,
    'background cores': need.background,
    'Redis cores': need.redis,
    'PostgreSQL cores': need.postgres,
    'recording %': Math.round(need.recording * 100),
    'WAL MB/s': need.walBytesPerSecond / 1e6,
    'connections/s': Math.round(need.connectionsPerSecond),
    'devices GB': need.deviceBytes / 1e9,
    'Redis MB': need.redisBytes / 1e6,
  };
}

function limitRow({ name, checksPerSecond, devices }: ReturnType<typeof limitsOf>[number]): Row {
  return {
    'used up': name,
    'checks/s': Math.round(checksPerSecond),
    'million devices': millions(devices),
  };
}

function remarksOf(run: FleetRun, first: FleetStep, last: FleetStep): string[] {
  const { settings, playerMs, checkpoints, tables } = run;
  const { speed } = settings;
  const wallMs = last.reading.cpu.at - first.reading.cpu.at;
  const oldest = Math.max(...run.steps.map(({ reading }) => reading.ageSeconds));
  const isBehind = last.reading.ageSeconds > BEHIND_SECONDS || last.reading.held > HELD_MAX;
  const late = Math.round(last.progress.lateMs);
  return [
    isBehind
      ? 'Recording did not keep up: check-ins waited at the end.'
      : `Recording kept up: the oldest check-in was ${oldest.toFixed(1)} s old, at the end of a step.`,
    `${tables.rows} devices at ${speed} times real time; ${freshnessText(speed)}.`,
    'Not scaled: the hours of the service (a row is written once in each new one), its limit of checks a',
    'minute, its timers. New devices had no bounds, because all come from one address.',
    `PostgreSQL made ${checkpoints} checkpoints: one in five minutes of the fleet's time, as installed.`,
    `The player took ${(playerMs / wallMs).toFixed(2)} of a core and was late by at most ${late} ms.`,
  ];
}

function freshnessText(speed: number): string {
  const { seconds, virtual } = freshnessAt(speed);
  const setting = `DEVICE_FRESHNESS_SECONDS was ${seconds}`;
  if (virtual === FRESHNESS_INSTALLED) return `${setting}, which is 300 s to them, as installed`;
  return `${setting}, which is ${virtual} s to them instead of 300, so rows are written less often`;
}

function hourText(hour: number): string {
  const minutes = Math.round(hour * 60) % (24 * 60);
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

function millions(devices: number): number {
  return Math.round(devices / 1e4) / 100;
}
