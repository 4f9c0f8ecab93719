// Loads a running deployment that the caller owns (`check --target URL`) in the open loop: requests are sent
// at fixed times, and latencies count from when a request was due.

import { isIPv4 } from 'node:net';
import { Option } from 'commander';
import { type Given, numberOption, Refusal } from '../benchmark.ts';
import { LatencyHistogram } from '../load/latency-histogram.ts';
import type { LoadOptions, LoadRun } from '../load/load-connection.ts';
import { type LoadResult, runLoad } from '../load/run-load.ts';
import { percentileColumns, type Report } from '../report.ts';

const CONNECTIONS_MAX = 64;
/** Requests a second on one connection: an answer may take a tenth of a second before the next is due. */
const REQUESTS_PER_CONNECTION = 10;
const DEVICE_RATE_MAX = 120;
const REQUESTS_MAX = 5_000_000;

export const TARGET_OPTIONS: readonly Option[] = [
  new Option('--target <url>', 'checks at this address, of a service of yours, and nothing else'),
  numberOption('--rate <n>', 'checks a second, 100 unless given', 1, 100_000),
  numberOption('--duration <seconds>', '10 unless given', 1, 3600),
  numberOption('--devices <n>', 'that ask in turn, 1000 unless given', 1, 10_000_000),
  new Option('--label <key=value...>', 'labels of the devices'),
  new Option('--yes-i-own-this', 'loads a service on another machine'),
];

type TargetOptions = Partial<Record<'rate' | 'duration' | 'devices', number>> &
  Partial<{ target: string; label: readonly string[]; yesIOwnThis: true }>;

export function targetLoad({ options }: Pick<Given, 'options'>) {
  const { target = '', label: labels = [], yesIOwnThis } = options as TargetOptions;
  const { rate = 100, duration: seconds = 10, devices = 1000 } = options as TargetOptions;
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Refusal('--target: must be an http:// or https:// address');
  }
  if (!isLoopback(url.hostname) && yesIOwnThis !== true) {
    const what = `--target: ${url.hostname} is not this machine`;
    throw new Refusal(`${what}; pass --yes-i-own-this if it is yours to load`);
  }
  if (rate * seconds > REQUESTS_MAX) {
    const what = `--rate, --duration: together more than ${REQUESTS_MAX} requests`;
    throw new Refusal(`${what}; make it several runs`);
  }
  for (const label of labels) {
    const at = label.indexOf('=');
    if (at < 1) throw new Refusal(`--label: ${label} is not KEY=VALUE`);
    url.searchParams.append(`l.${label.slice(0, at)}`, label.slice(at + 1));
  }
  const isTls = url.protocol === 'https:';
  const connections = Math.min(CONNECTIONS_MAX, Math.ceil(rate / REQUESTS_PER_CONNECTION));
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (isTls ? 443 : 80)),
    question: { paths: [url.pathname + url.search], devices },
    ...{ isTls, rate, connections, seconds, warmupSeconds: 0 },
  } satisfies LoadOptions;
}

/** Tells by the name alone, without a lookup, whether a host is this machine. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]' || hostname === '::1') return true;
  return isIPv4(hostname) && hostname.startsWith('127.');
}

export async function loadTarget(given: Given): Promise<Report> {
  const load = targetLoad(given);
  const perDevice = (load.rate * 60) / load.question.devices;
  if (perDevice > DEVICE_RATE_MAX) {
    console.error(`${Math.round(perDevice)} requests a minute per device: expect 429 above 120`);
  }
  let progress: NodeJS.Timeout | undefined;
  const result = await runLoad(load, (run) => {
    progress = showProgress(run, load.seconds);
  });
  clearInterval(progress);
  return reportOf(load.rate, result);
}

function showProgress(run: LoadRun, seconds: number): NodeJS.Timeout {
  const begin = performance.now();
  let before = 0;
  return setInterval(() => {
    const elapsed = Math.round((performance.now() - begin) / 1000);
    const errors = Object.values(run.errors).reduce((sum, count) => sum + count, 0);
    const p99 = run.responses === 0 ? '-' : Math.round(run.latency.percentileUs(0.99));
    const answers = run.responses - before;
    console.error(`${elapsed}/${seconds} s  ${answers}/s  p99 ${p99} us  errors ${errors}`);
    before = run.responses;
  }, 1000);
}

/** Builds the report. A connection that was ended fails it: a client that waits for answers loses none. */
export function reportOf(rate: number, result: LoadResult): Report {
  const { responses, statuses, errors, ended } = result;
  const latency = new LatencyHistogram(result.latency);
  const us = (share: number) => Math.round(latency.percentileUs(share));
  const rps = Math.round(responses / result.seconds);
  const percentiles = { p50Us: us(0.5), p90Us: us(0.9), p99Us: us(0.99), p999Us: us(0.999) };
  const columns = percentileColumns(us, 50, 90, 99, 99.9);
  const counts = (kinds: Readonly<Record<string, number>>) =>
    Object.entries(kinds).map(([kind, count]) => {
      return { kind, count, share: count / Math.max(1, responses) };
    });
  return {
    tables: [
      { rows: [{ 'wanted/s': rate, 'answered/s': rps, ...columns, ended }] },
      { title: 'answers by status', rows: counts(statuses) },
      { title: 'errors by kind', rows: counts(errors) },
    ],
    reading: [
      'Latencies are from when a request was due, so a stall counts for all it kept waiting.',
      'ended: connections that the service, or what stands before it, ended in the run.',
    ],
    json: { target: { rate, rps, ...percentiles, statuses, errors, ended } },
    failures: [
      ...(responses === 0 ? ['no answer'] : []),
      ...(ended > 0 ? [`the service ended ${ended} connections`] : []),
    ],
  };
}
